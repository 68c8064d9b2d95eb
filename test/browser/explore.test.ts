/**
 * Explore in a real browser: who spent most this week and on what, what a key cost in October east and west of UTC, and the way from a sum to its requests; the address holds
 * the question; axe-core finds nothing serious. Rules: pages.md "Explore".
 */

import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { WRITER_GONE_S } from '../../src/core/history/kept.ts'
import { picos, toExactUsdText } from '../../src/core/money.ts'
import { dayAt } from '../../src/core/utc.ts'
import { HistoryFile } from '../../src/history/history-file.ts'
import { historyPathOf } from '../../src/history/threaded-store.ts'
import { VIEWS_MAX } from '../../src/people/views.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { makeHistory } from '../support/history.ts'
import { createKey, holdRequest, settlement, usd } from '../support/ledger.ts'
import { randomFrom, SEED } from '../support/seed.ts'
import { until } from '../support/until.ts'
import { LOOKS, lookAt } from './axe.ts'
import { openBrowser } from './chromium.ts'
import { signIn } from './sign-in.ts'

setDefaultTimeout(120_000)

let gateway: TestGateway
let browser: Browser
const complaints: string[] = []
beforeAll(async () => {
  gateway = await startTestGateway()
  await makeHistory(gateway, randomFrom(SEED), 150)
  // The first and the last moment of October, and those beside it.
  for (const [index, at] of [
    '2025-09-30T23:59:59.999Z',
    '2025-10-01T00:00:00Z',
    '2025-10-31T23:59:59.999Z',
    '2025-11-01T00:00:00Z',
  ].entries()) {
    const requestId = `req_october_${index}`
    await gateway.ledger.hold(holdRequest(requestId, 'key_b', usd('0.05'), { now: Date.now() }))
    await gateway.ledger.settle(settlement(requestId, { input: 10 ** index }, { now: Date.parse(at) }))
  }
  // However young the week is, it has a request.
  await gateway.ledger.hold(holdRequest('req_now', 'key_b', usd('0.05'), { modelId: 'opus', now: Date.now() }))
  await gateway.ledger.settle(settlement('req_now', { input: 7 }, { now: Date.now() }))
  // Another account's key with the name of a key.
  await gateway.operate({ ...createKey('key_twin', { accountId: 'acc_south' }), name: 'laptop', now: Date.now() })
  await gateway.ledger.findKey(createKey('key_twin').secretHash)
  await gateway.ledger.hold(holdRequest('req_twin', 'key_twin', usd('0.05'), { modelId: 'opus', now: Date.now() }))
  await gateway.ledger.settle(settlement('req_twin', { input: 900 }, { now: Date.now() }))
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  expect(gateway.verify()).toEqual([])
  await gateway.stop()
})
afterEach(() => expect(complaints.splice(0)).toEqual([]))

async function signedIn(listener: 'console' | 'cabinet', options: BrowserContextOptions = {}): Promise<Page> {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })).newPage()
  page.on('console', (message) => message.type() !== 'log' && complaints.push(message.text()))
  page.on('pageerror', ({ message }) => complaints.push(message))
  await signIn(page, gateway, listener)
  await page.getByRole('link', { name: 'Explore', exact: true }).click()
  await page.getByRole('heading', { name: 'Explore' }).waitFor()
  await page.locator('tfoot').waitFor()
  return page
}

type Receipt = ReturnType<TestGateway['receipts']>[number]
const exact = (amount: bigint): string => toExactUsdText(picos(amount))
const costOf = (receipts: readonly Receipt[]): string => exact(receipts.reduce((sum, { costPicos }) => sum + costPicos, 0n))
/** The amounts of a row's first column of amounts. */
const spentIn = (page: Page, row: string): Promise<string | null> => page.locator(`${row} data`).first().getAttribute('value')

test('who spent most this week, and on what, is the first row, and its requests are a click away', async () => {
  const page = await signedIn('console')
  try {
    await page.getByRole('button', { name: 'This week' }).click()
    await page.getByLabel('By', { exact: true }).selectOption('account')
    await page.getByLabel('and by', { exact: true }).selectOption('model')
    for (const name of ['Account', 'Model']) await page.getByRole('columnheader', { name }).waitFor()
    const query = new URL(page.url()).searchParams
    expect([query.get('by'), query.get('measure')]).toEqual(['account,model', 'spend'])
    const [from = 0, to = 0] = ['from', 'to'].map((name) => dayAt(Date.parse(query.get(name) ?? '')))
    const own = gateway.receipts().filter(({ settledAt }) => dayAt(settledAt) >= from && dayAt(settledAt) <= to)
    const groups = [...Map.groupBy(own, ({ accountId, modelId }) => `${accountId} ${modelId}`)].map(([id, of]) => ({ id, of }))
    const most = groups.toSorted((a, b) =>
      Number(b.of.reduce((sum, { costPicos }) => sum + costPicos, 0n) - a.of.reduce((sum, { costPicos }) => sum + costPicos, 0n)),
    )[0]
    expect(await spentIn(page, 'tbody tr:first-child')).toBe(costOf(most?.of ?? []))
    expect(await spentIn(page, 'tfoot')).toBe(costOf(own))
    await page.locator('tbody tr').first().getByRole('link').click()
    await page.getByRole('heading', { name: 'Requests' }).waitFor()
    const asked = new URL(page.url()).searchParams
    expect(`${asked.get('account_id')} ${asked.get('model')}`).toBe(most?.id ?? '')
  } finally {
    await page.context().close()
  }
})

for (const timezoneId of ['Pacific/Auckland', 'America/Los_Angeles'])
  test(`what a key cost in October is the same in ${timezoneId}: its days are UTC`, async () => {
    const page = await signedIn('console', { timezoneId })
    try {
      await page.goto(`${new URL(page.url()).origin}/console/explore?by=key&key=key_b&from=2025-10-01&to=2025-10-31&step=month`)
      await page.locator('tfoot').waitFor()
      const own = gateway.receipts().filter(({ requestId }) => ['req_october_1', 'req_october_2'].includes(requestId))
      expect(await spentIn(page, 'tfoot')).toBe(costOf(own))
      expect(await page.locator('tbody tr').first().getByRole('link').textContent()).toBe('2')
      expect(await page.getByLabel('From (UTC)').inputValue()).toBe('2025-10-01')
    } finally {
      await page.context().close()
    }
  })

test('days are typed key by key and asked for once, by the button', async () => {
  const page = await signedIn('console')
  try {
    const before = page.url()
    const from = page.getByLabel('From (UTC)')
    // The same day in whatever order a browser has day and month.
    await from.focus()
    await from.pressSequentially('10102025')
    expect([page.url(), await from.inputValue()]).toEqual([before, '2025-10-10'])
    await page.getByLabel('To (included)').fill('2025-10-31')
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    await page.waitForURL(/from=2025-10-10&to=2025-10-31/)
    await page.locator('tfoot').waitFor()
  } finally {
    await page.context().close()
  }
})

test('keys that share a name have colours and names of their own, in the chart and in the table', async () => {
  const page = await signedIn('console')
  try {
    await page.getByLabel('By', { exact: true }).selectOption('key')
    await page.getByRole('columnheader', { name: 'Key' }).waitFor()
    const legend = await page.locator('.legend li').allTextContents()
    const colours = await page.locator('.legend rect').evaluateAll((found) => found.map((one) => one.getAttribute('fill')))
    expect([legend.length, new Set(legend).size, new Set(colours).size]).toEqual([5, 5, 5])
    const laptops = legend.filter((name) => name.startsWith('laptop')).toSorted()
    expect(laptops).toEqual(['laptop (…key_c)', 'laptop (…y_twin)'])
    for (const name of laptops) expect(await page.locator('tbody').getByRole('button', { name }).count()).toBe(1)
  } finally {
    await page.context().close()
  }
})

test('the cache hit rate is a line for each group, and the whole is no sum of them but the rate of all', async () => {
  const page = await signedIn('console')
  try {
    await page.getByLabel('Show', { exact: true }).selectOption('cache_hits')
    await page.locator('.readout', { hasText: 'cache hit rate' }).waitFor()
    const shown = await page.locator('.readout strong').textContent()
    const own = gateway.receipts().filter(({ settledAt }) => dayAt(settledAt) > dayAt(Date.now()) - 30)
    const sum = (of: (receipt: Receipt) => number): number => own.reduce((total, receipt) => total + of(receipt), 0)
    const read = sum(({ cacheReadTokens }) => cacheReadTokens)
    const prompts = read + sum((one) => one.inputTokens + one.cacheWrite5mTokens + one.cacheWrite1hTokens)
    expect(shown).toBe(`${(Math.round((read * 1_000) / prompts) / 10).toFixed(1)} %`)
    expect(await page.locator('tfoot').textContent()).toContain(shown ?? '')
    expect((await page.locator('.legend li').allTextContents()).toSorted()).toEqual(['haiku', 'opus'])
  } finally {
    await page.context().close()
  }
})

test('why requests were refused is a click away, and what the history does not keep is disabled with the reason beside it', async () => {
  const page = await signedIn('console')
  try {
    expect((await gateway.post('/v1/messages', 'sk-wrong', {})).status).toBe(401)
    await until(async () => (await refusedNow(page)) > 0)
    killedProcess()
    await page.getByLabel('By', { exact: true }).selectOption('account')
    await page.getByRole('columnheader', { name: 'Account' }).waitFor()
    await page.getByLabel('Show', { exact: true }).selectOption('refusals')
    await page.getByRole('columnheader', { name: 'Refused', exact: true }).waitFor()
    const options = (label: string) => page.getByLabel(label, { exact: true }).locator('option:disabled').allTextContents()
    expect(await options('By')).toEqual(['key', 'account', 'format', 'outcome', 'tag'])
    expect(await page.getByLabel('By', { exact: true }).inputValue()).toBe('model')
    await page.getByText('Refusals are kept by model, upstream and reason').waitFor()
    await page.getByLabel('By', { exact: true }).selectOption('reason')
    await page.locator('tbody', { hasText: 'key invalid' }).waitFor()
    expect(await page.locator('.legend li').allTextContents()).toEqual(['key invalid'])
    expect(await page.locator('.readout strong').textContent()).toBe(await page.locator('tfoot td').last().textContent())
    await lookAt(page, 'refusals by reason')
    await page.getByText(/^Processes ended unexpectedly after .*: the requests of up to ten seconds may be missing there\.$/).waitFor()
    await page.getByLabel('Show', { exact: true }).selectOption('first_byte_p95')
    await page.getByRole('columnheader', { name: 'First byte p95' }).waitFor()
    expect(await options('By')).toEqual(['key', 'account', 'format', 'outcome', 'tag'])
    await lookAt(page, 'first bytes')
    await page.getByLabel('Show', { exact: true }).selectOption('spend')
    await page.getByRole('columnheader', { name: 'Spend' }).waitFor()
    await page.getByLabel('By', { exact: true }).selectOption('key')
    await page.getByRole('columnheader', { name: 'Key' }).waitFor()
    await page.locator('tbody tr').first().getByRole('button').click()
    await page.getByText('Refusals and first bytes are not kept by key').waitFor()
    expect((await options('Show')).length).toBe(4)
  } finally {
    await page.context().close()
  }
})

/** Of a process that ended without a word the history has when it last wrote. */
function killedProcess(): void {
  const now = Date.now() - 2 * WRITER_GONE_S * 1_000
  const file = new HistoryFile(historyPathOf(gateway.ledgerPath))
  try {
    file.write({ name: 'killed', beganAt: Math.floor(now / 1_000) }, [], { now, isWhole: false })
  } finally {
    file.close()
  }
}

/** What the history has, which is written behind the requests. */
const refusedNow = async (page: Page): Promise<number> => {
  const answer = await page.request.get(`${new URL(page.url()).origin}/console/api/explore?measure=refusals`)
  return ((await answer.json()) as { total: { refused: number } }).total.refused
}

test('a view is kept under a name, is opened with the days of then by its link, and is gone when it is deleted', async () => {
  const page = await signedIn('cabinet')
  const search = (): Record<string, string> => Object.fromEntries(new URL(page.url()).searchParams)
  try {
    await page.getByRole('button', { name: 'This week' }).click()
    await page.getByLabel('By', { exact: true }).selectOption('key')
    await page.getByRole('columnheader', { name: 'Key' }).waitFor()
    const asked = search()
    const menu = page.locator('details', { has: page.locator('summary', { hasText: 'Views' }) })
    await menu.locator('summary').click()
    await menu.getByRole('button', { name: 'Save this view' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('keys of the week')
    expect(await dialog.getByLabel('Days').locator('option:checked').textContent()).toMatch(/^This week/)
    await lookAt(page, 'the dialog of a view')
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    const place = { personId: (await gateway.people().known('ann@example.com')).id, accountId: 'acc_north' }
    for (let n = 1; n < VIEWS_MAX; n++) await gateway.people().views.save(place, { name: `one ${'of many '.repeat(4)}${n}`, view: '{}' })
    await page.reload()
    await page.getByRole('button', { name: '12 months' }).click()
    await page.waitForURL(/step=month/)
    await page.setViewportSize({ width: 390, height: 800 })
    await menu.locator('summary').click()
    await lookAt(page, 'the menu of views')
    expect(await menu.getByRole('link').count()).toBe(VIEWS_MAX)
    expect((await menu.locator('.menu-open').boundingBox())?.height).toBeLessThan(800)
    const heights = await menu
      .locator('.kept')
      .last()
      .locator('a, button')
      .evaluateAll((all) => all.map((one) => one.clientHeight))
    expect((heights[0] ?? 0) / (heights[1] ?? 0), 'a long name makes its button no higher').toBeGreaterThan(1.5)
    expect((await menu.getByRole('link', { name: 'keys of the week' }).boundingBox())?.x).toBeGreaterThanOrEqual(0)
    await menu.getByRole('link', { name: 'keys of the week' }).click()
    await page.waitForURL(/step=day/)
    expect(search()).toEqual(asked)
    await menu.locator('summary').click()
    await menu.getByRole('button', { name: 'Delete the view keys of the week' }).click()
    await menu.getByRole('link', { name: 'keys of the week' }).waitFor({ state: 'detached' })
  } finally {
    await page.context().close()
  }
})

test('in the cabinet a click shows one thing alone, the way back works, and nothing is wider than the screen or serious for axe-core', async () => {
  const page = await signedIn('cabinet')
  try {
    await page.getByRole('columnheader', { name: 'Model' }).waitFor()
    expect(await page.getByRole('columnheader', { name: 'Upstream cost' }).count()).toBe(0)
    const before = await spentIn(page, 'tfoot')
    const first = page.locator('tbody tr').first().getByRole('button')
    const name = await first.textContent()
    await first.click()
    await page.getByRole('button', { name: `Only model: ${name}: take away` }).waitFor()
    expect(new URL(page.url()).searchParams.get('model')).toBe(name)
    await page.goBack()
    await page.getByRole('button', { name: `Only model: ${name}: take away` }).waitFor({ state: 'detached' })
    await page.locator(`tfoot data[value="${before}"]`).first().waitFor()
    const models = [
      ...new Set(
        gateway
          .receipts()
          .filter(({ accountId }) => page.url().includes(accountId))
          .map(({ modelId }) => modelId),
      ),
    ].slice(0, 2)
    for (const model of models) {
      await page.getByRole('combobox', { name: 'Only model' }).fill(model)
      await page.getByRole('option', { name: model }).first().waitFor()
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: `Only model: ${model}: take away` }).waitFor()
    }
    expect(new URL(page.url()).searchParams.get('model')).toBe(models.join())
    await page.getByRole('combobox', { name: 'Only tag' }).fill('(none)')
    await page.getByRole('option', { name: '(none)' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Only tag: (none): take away' }).waitFor()
    expect(new URL(page.url()).searchParams.get('tag')).toBe('(none)')
    for (const { colorScheme, width } of LOOKS) {
      await page.setViewportSize({ width, height: 800 })
      await page.emulateMedia({ colorScheme })
      await lookAt(page, `explore, ${colorScheme}, ${width} px`)
    }
  } finally {
    await page.context().close()
  }
})
