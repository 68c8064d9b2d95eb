/**
 * Tables in a real browser: amounts stand below each other and are copied with every digit, a phone shows cards and scrolls nowhere sideways, columns order rows and
 * can be left out. Rules: pages.md "Amounts", "Tables".
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { exampleModelOf } from '../../src/docs/guide.ts'
import { sampleGateway } from '../docs/sample-gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'
import { lookAt } from './axe.ts'
import { type Sample, sampleOfCabinet } from './cabinet-pages.ts'
import { openBrowser } from './chromium.ts'

setDefaultTimeout(60_000)

let gateway: TestGateway
let browser: Browser
let sample: Sample
beforeAll(async () => {
  gateway = await sampleGateway()
  sample = await sampleOfCabinet(gateway, exampleModelOf(gateway.world.catalog())?.id ?? '')
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  await gateway.stop()
})

/** A page of the account with three months of spend. */
async function enter(path: string, options: BrowserContextOptions = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  const page = await context.newPage()
  await sample.open(page)
  await page.goto(`${gateway.people().origins('cabinet').base}/cabinet/a/acc_spend/${path}`)
  await page.locator('.rows:visible').first().waitFor()
  return { page, close: () => context.close() }
}

const texts = (page: Page, selector: string): Promise<string[]> =>
  page.locator(selector).evaluateAll((found) => found.map((one) => one.textContent ?? ''))

const columnOf = async (page: Page, label: string, name: string): Promise<string[]> => {
  const heads = (await texts(page, `section[aria-label="${label}"] thead th`)).map((head) => head.trim())
  return texts(page, `section[aria-label="${label}"] tbody td:nth-child(${heads.indexOf(name) + 1})`)
}

/** Selects two letters of an amount, of which digits are cut where there is such a one, and copies them. */
const COPY = `(() => {
  const amounts = [...document.querySelectorAll('tbody data.usd')]
  const amount = amounts.find(({ value, textContent }) => value.length > textContent.length) ?? amounts[0]
  const range = document.createRange()
  range.setStart(amount.firstChild, 1)
  range.setEnd(amount.firstChild, 3)
  getSelection().removeAllRanges()
  getSelection().addRange(range)
  const event = new ClipboardEvent('copy', { clipboardData: new DataTransfer(), bubbles: true, cancelable: true })
  amount.dispatchEvent(event)
  return [amount.value, event.clipboardData.getData('text/plain')]
})()`

test('amounts of a column have one number of places, and an amount is copied whole however little of it is selected', async () => {
  const { page, close } = await enter('requests')
  const costs = await columnOf(page, 'Requests', 'Cost')
  expect(costs.length).toBeGreaterThan(9)
  expect(new Set(costs.map((cost) => cost.split('.')[1]?.length)).size).toBe(1)
  const [exact, copied] = await page.evaluate<[string, string]>(COPY)
  expect(copied).toBe(exact)
  expect(await columnOf(page, 'Requests', 'Cost')).toEqual(costs)
  await close()
})

test('a column’s name orders the rows by exact amounts, up and down, by keyboard; a column can be left out, and stays so', async () => {
  const { page, close } = await enter('spend?range=90&by=key')
  const names = () => columnOf(page, 'Spend by key', 'Key')
  const before = await names()
  const head = page.getByRole('columnheader', { name: 'Requests' })
  const figures = async () => (await columnOf(page, 'Spend by key', 'Requests')).map((text) => Number(text.replaceAll(',', '')))
  await head.getByRole('button').focus()
  await page.keyboard.press('Enter')
  expect(await head.getAttribute('aria-sort')).toBe('descending')
  expect(await figures()).toEqual((await figures()).toSorted((a, b) => b - a))
  await page.keyboard.press('Enter')
  expect(await head.getAttribute('aria-sort')).toBe('ascending')
  expect(await figures()).toEqual((await figures()).toSorted((a, b) => a - b))
  await page.keyboard.press('Enter')
  expect(await names()).toEqual(before)
  await page.getByText('Columns', { exact: true }).click()
  await page.getByRole('checkbox', { name: 'Cache write' }).uncheck()
  await page.getByRole('columnheader', { name: 'Cache write' }).waitFor({ state: 'detached' })
  await page.reload()
  await page.locator('.rows:visible').first().waitFor()
  expect(await page.getByRole('columnheader', { name: 'Cache write' }).count()).toBe(0)
  await close()
})

test('on a phone of 320 px tables are cards with their two figures first, and nothing scrolls sideways', async () => {
  for (const colorScheme of ['light', 'dark'] as const)
    for (const path of ['spend?range=90&by=tag', 'requests', 'keys']) {
      const { page, close } = await enter(path, { colorScheme, viewport: { width: 320, height: 800 } })
      await lookAt(page, `${path}, ${colorScheme}`)
      const wide = await page.locator('.scroll').evaluateAll((found) => found.filter((one) => one.scrollWidth > one.clientWidth).length)
      expect([path, wide]).toEqual([path, 0])
      const tall = await page.locator('data.usd').evaluateAll((found) => found.filter((one) => one.getClientRects().length > 1).length)
      expect([path, tall]).toEqual([path, 0])
      const firsts = await page.locator('.as-cards:visible tbody tr').first().locator('.card-first').count()
      expect([path, firsts]).toEqual([path, 2])
      await close()
    }
})

test('on a phone of 320 px what is done to a row is reached without scrolling, in a table of few columns, too; a tablet has the account beside the name', async () => {
  const { page, close } = await enter('members', { viewport: { width: 320, height: 800 } })
  const button = page.getByRole('button', { name: /^Change / }).first()
  const { x = 320, width = 0 } = (await button.boundingBox()) ?? {}
  expect(x + width).toBeLessThanOrEqual(320)
  expect(await page.locator('.scroll').evaluateAll((found) => found.filter((one) => one.scrollWidth > one.clientWidth).length)).toBe(0)
  for (const width of [641, 768, 980]) {
    await page.setViewportSize({ width, height: 800 })
    const [name, account, field] = await Promise.all(
      ['.bar > .brand', '.bar .switch', '.bar .find'].map((part) => page.locator(part).boundingBox()),
    )
    const end = ({ y, height }: { y: number; height: number } = { y: 0, height: 0 }): number => y + height
    expect([width, (account?.y ?? 0) < end(name ?? undefined), (field?.y ?? 0) >= end(account ?? undefined)]).toEqual([width, true, true])
  }
  await close()
})

test('the dearest request of a time is one click away, stays so while others come, and says why it cost that', async () => {
  const { page, close } = await enter('spend?range=90')
  await page.getByRole('link', { name: 'the dearest of them first' }).click()
  await page.getByText(/In this order are all [\d,]+ requests/).waitFor()
  const costs = () => page.locator('tbody data.usd').evaluateAll((found) => found.map((one) => Number(one.getAttribute('value'))))
  const first = await costs()
  expect(first).toEqual(first.toSorted((a, b) => b - a))
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('button', { name: 'Back' }).and(page.locator(':enabled')).waitFor()
  await until(async () => (await costs())[0] !== first[0])
  expect(Math.max(...(await costs()))).toBeLessThanOrEqual(first.at(-1) ?? 0)
  await page.getByRole('button', { name: 'Back' }).click()
  await until(async () => (await costs())[0] === first[0])
  await page.locator('tbody button.as-link').first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('region', { name: 'How the cost was computed' }).getByText('Charged').waitFor()
  expect(Number(await dialog.locator('tfoot data.usd').getAttribute('value'))).toBe(first[0] ?? 0)
  await close()
})

test('the field in the bar finds keys, models and members by a few letters, by keyboard alone; nothing of another account', async () => {
  const { page, close } = await enter('keys')
  await page.keyboard.press('/')
  const field = page.getByRole('combobox', { name: /^Search keys/ })
  await page.locator('.find input:focus').waitFor()
  await page.keyboard.type('lapt')
  await page.locator('[role=option]', { hasText: 'laptop' }).waitFor()
  expect(await page.locator('[role=option]').count()).toBe(1)
  await lookAt(page, 'what was found')
  await page.keyboard.press('Enter')
  await page.waitForURL(/requests\?key=key_spend_2/)
  await page.keyboard.press('/')
  await page.keyboard.type('old server')
  await page.getByText('Nothing found').waitFor()
  await page.keyboard.press('Escape')
  expect(await field.inputValue()).toBe('')
  const model = exampleModelOf(gateway.world.catalog())?.id ?? ''
  await page.keyboard.type(model)
  await page.locator('[role=option]', { hasText: model }).first().waitFor()
  await page.keyboard.press('ArrowDown')
  expect(await page.locator('[role=option][aria-selected=true]').count()).toBe(1)
  await page.keyboard.press('Enter')
  await page.waitForURL(/requests\?model=/)
  await close()
})
