/**
 * Tables of which the console has all rows, in a real browser: each column with an order is led through by keyboard, says which way it stands, and comes back to the list's
 * own order; columns without one have no button. Rules: pages.md "Tables".
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { codeDisplayOf } from '../../src/core/prepaid-code.ts'
import type { Operation } from '../../src/ledger/operation.ts'
import { newCodes } from '../../src/ledger/operations/new-codes.ts'
import { hashOf } from '../../src/ledger/operations/secret-hash.ts'
import { usd } from '../support/ledger.ts'
import { openBrowser } from './chromium.ts'
import { type SampleConsole, sampleConsole } from './sample-console.ts'
import { enterConsole } from './sign-in.ts'

setDefaultTimeout(60_000)

let sample: SampleConsole
let browser: Browser
beforeAll(async () => {
  sample = await sampleConsole()
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  await sample.stop()
})

async function openPage(path: string, table: string | RegExp): Promise<Page> {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage()
  await enterConsole(page, sample.gateway)
  await page.goto(`${new URL(page.url()).origin}/console${path}`)
  await tableOf(page, table).locator('tbody tr').first().waitFor()
  return page
}

/** The part that scrolls, which has the table's name. */
const tableOf = (page: Page, name: string | RegExp) => page.locator('section.scroll').and(page.getByRole('region', { name, exact: true }))

/** The first cells of the rows as they stand. */
const firsts = async (page: Page, table: string | RegExp): Promise<string[]> =>
  (await tableOf(page, table).locator('tbody td:first-child > :first-child, tbody td:first-child:not(:has(*))').allTextContents()).map(
    (text) => text.trim(),
  )

/** What a press of Enter on the column's name makes of the table: how the column says it is ordered, and the rows. */
async function pressed(page: Page, table: string | RegExp, column: string): Promise<readonly [string | null, readonly string[]]> {
  const head = tableOf(page, table).getByRole('columnheader', { name: column, exact: true })
  await head.getByRole('button').focus()
  await page.keyboard.press('Enter')
  return [await head.getAttribute('aria-sort'), await firsts(page, table)]
}

/** A column's three presses: one way, the other, and the list's own order again. `first`: the way of the first press, and the rows then; `second`: the rows of the other way. */
async function expectOrders(
  page: Page,
  table: string | RegExp,
  column: string,
  [first, firstRows, secondRows]: readonly ['ascending' | 'descending', string[], string[]],
) {
  const own = await firsts(page, table)
  const presses = [await pressed(page, table, column), await pressed(page, table, column), await pressed(page, table, column)]
  expect([column, ...presses]).toEqual([
    column,
    [first, firstRows],
    [first === 'ascending' ? 'descending' : 'ascending', secondRows],
    ['none', own],
  ])
}

const buttonsOf = (page: Page, table: string | RegExp) => tableOf(page, table).locator('thead button').allTextContents()

test('the catalogue’s models are ordered by name, input, output and tokens by keyboard, each its own way; its other columns have no order', async () => {
  const page = await openPage('/catalog', 'Models')
  expect(await buttonsOf(page, 'Models')).toEqual(['Model', 'Input', 'Output', 'Tokens'])
  expect(await firsts(page, 'Models')).toEqual(['sonnet', 'haiku', 'opus'])
  const orders = {
    Model: ['ascending', ['haiku', 'opus', 'sonnet'], ['sonnet', 'opus', 'haiku']],
    Input: ['descending', ['opus', 'sonnet', 'haiku'], ['haiku', 'sonnet', 'opus']],
    Output: ['descending', ['sonnet', 'opus', 'haiku'], ['haiku', 'opus', 'sonnet']],
    Tokens: ['ascending', ['opus', 'haiku', 'sonnet'], ['sonnet', 'haiku', 'opus']],
  } as const
  for (const [column, [way, one, other]] of Object.entries(orders)) await expectOrders(page, 'Models', column, [way, [...one], [...other]])
  await page.context().close()
})

const UNITS = { '': 1, s: 1_000, min: 60_000, h: 3_600_000, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 } as const
/** "2 min" → 120000. */
function valueIn(text: string): number {
  const [, count = '', unit = ''] = /^([\d,]+)(?: (\w+))?(?: a minute)?$/.exec(text) ?? []
  return Number(count.replaceAll(',', '')) * (UNITS[unit as keyof typeof UNITS] ?? Number.NaN)
}

test('the limits in force are ordered by name and by value, as numbers', async () => {
  const page = await openPage('/catalog', 'Limits')
  const own = await firsts(page, 'Limits')
  const values = (await tableOf(page, 'Limits').locator('tbody td:nth-child(2)').allTextContents()).map(valueIn)
  const limitOf = new Map(own.map((name, at) => [name, values[at] ?? 0]))
  expect(new Set(values.map((value) => String(value).length)).size).toBeGreaterThan(2)
  const [byName, falling, rising] = [
    own.toSorted((a, b) => a.localeCompare(b)),
    own.toSorted((a, b) => (limitOf.get(b) ?? 0) - (limitOf.get(a) ?? 0)),
    own.toSorted((a, b) => (limitOf.get(a) ?? 0) - (limitOf.get(b) ?? 0)),
  ]
  await expectOrders(page, 'Limits', 'Name', ['ascending', byName, byName.toReversed()])
  await expectOrders(page, 'Limits', 'Value', ['descending', falling, rising])
  await page.context().close()
})

test('the codes of a batch are ordered by place, account and time; those that nothing is known of stand below the others both ways', async () => {
  const page = await openPage(`/codes/${await someRedeemed()}`, 'Codes')
  expect(await buttonsOf(page, 'Codes')).toEqual(['No', 'Redeemed by', 'When'])
  expect(await firsts(page, 'Codes')).toEqual(['1', '2', '3', '4', '5'])
  await expectOrders(page, 'Codes', 'No', ['descending', ['5', '4', '3', '2', '1'], ['1', '2', '3', '4', '5']])
  await expectOrders(page, 'Codes', 'Redeemed by', ['ascending', ['5', '2', '3', '1', '4'], ['3', '2', '5', '1', '4']])
  await expectOrders(page, 'Codes', 'When', ['ascending', ['3', '5', '2', '1', '4'], ['2', '5', '3', '1', '4']])
  await page.context().close()
})

test('accounts whose names have umlauts stand among those of the same letter, on the page of the margin and in what past requests would have cost', async () => {
  await sample.pay()
  await sample.gateway.idle()
  const page = await openPage('/margin?by=account', /^Margin by account/)
  try {
    const rising = ['apple', 'Ärzte', 'Oslo', 'Öz', 'Zebra']
    const asked = ['Öz', 'Zebra', 'apple', 'Oslo', 'Ärzte']
    /** The answers of the gateway, in which the one account has five names. */
    await page.route(/\/console\/api\/(margin\?by=account|catalog\/repriced)/, async (route) => {
      const answer = await route.fetch()
      const document = (await answer.json()) as Record<'data' | 'accounts', readonly object[] | undefined>
      const named = (rows: readonly object[] | undefined) =>
        rows?.flatMap((row) => asked.map((name) => ({ ...row, id: name, account_id: name, name })))
      await route.fulfill({ json: { ...document, data: named(document.data), accounts: named(document.accounts) } })
    })
    await page.reload()
    await tableOf(page, /^Margin by account/)
      .getByText('Zebra')
      .waitFor()
    await expectOrders(page, /^Margin by account/, 'Account', ['ascending', rising, rising.toReversed()])
    await page.goto(`${new URL(page.url()).origin}/console/catalog`)
    await page.getByRole('button', { name: 'What would past requests have cost?' }).click()
    await tableOf(page, 'Receipts by account').getByText('Zebra').waitFor()
    await expectOrders(page, 'Receipts by account', 'Account', ['ascending', rising, rising.toReversed()])
  } finally {
    await page.context().close()
  }
})

/** A batch of five codes: the second, third and fifth are redeemed, by accounts whose names, ids and times stand in orders of their own. The first name begins small. */
async function someRedeemed(): Promise<string> {
  const { shown, codes } = newCodes(5)
  const now = Date.now()
  const write = async (operation: Operation): Promise<void> => {
    const done = await sample.gateway.world.ledger.operate(operation, { actor: 'os:test', address: '', reason: '' })
    if (done.result !== 'done') throw new Error(JSON.stringify(done))
  }
  const batchId = 'batch_orders'
  await write({ kind: 'createCodes', batchId, name: 'Orders', amountPicos: usd('1'), expiresAt: now + 8e9, codes, now })
  for (const [place, name, hours] of [
    [3, 'Zed', 1],
    [5, 'ash', 2],
    [2, 'Birch', 3],
  ] as const) {
    const accountId = `acc_redeemed_${hours}`
    await write({ kind: 'createAccount', accountId, name, topUp: null, now })
    const code = shown[place - 1] ?? ''
    await write({
      kind: 'redeemCode',
      codeHash: hashOf(code),
      accountId,
      creditId: `crd_${codeDisplayOf(code)}`,
      now: now + hours * 3_600_000,
    })
  }
  return batchId
}
