/**
 * The room of the console's pages: filters stand in few lines, of which none has a lone date, cards stand beside each other where a screen is wide, and what is empty says
 * so in words. Rules: pages.md "History", "Tables", "Amounts".
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { historyPathOf } from '../../src/history/threaded-store.ts'
import { openBrowser } from './chromium.ts'
import { sampleBooks } from './sample-books.ts'
import { type SampleConsole, sampleConsole } from './sample-console.ts'
import { sampleHistory } from './sample-history.ts'
import { enterConsole } from './sign-in.ts'

setDefaultTimeout(60_000)

let sample: SampleConsole
let browser: Browser
let page: Page
beforeAll(async () => {
  sample = await sampleConsole()
  sampleHistory(historyPathOf(sample.gateway.ledgerPath), await sampleBooks(sample.gateway), Date.now())
  await sample.pay()
  browser = await openBrowser()
  page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await enterConsole(page, sample.gateway)
})
afterAll(async () => {
  await browser.close()
  await sample.stop()
})

const go = (path: string): Promise<unknown> => page.goto(`${new URL(page.url()).origin}/console${path}`)
async function edgesOf(locator: Locator) {
  const { x = 0, y = 0, width = 0, height = 0 } = (await locator.boundingBox()) ?? {}
  return { left: x, top: y, right: x + width, bottom: y + height }
}

for (const [width, wide] of [
  [1280, 1280],
  [1800, 1800],
  [2560, 1800],
] as const)
  test(`bar and content have ${wide} px of a screen of ${width} px, in its middle, and tables have all of it`, async () => {
    await page.setViewportSize({ width, height: 900 })
    for (const path of ['/requests', '/accounts']) {
      await go(path)
      await page.locator('.rows').first().waitFor()
      // Without that of the scroll bar.
      const room: number = await page.evaluate('document.body.getBoundingClientRect().width')
      const main = await edgesOf(page.getByRole('main'))
      const [own, aside] = [main.right - main.left, (main.left - (room - main.right)) / 2]
      expect([path, own, Math.abs(aside)]).toEqual([path, Math.min(room, wide), 0])
      const links = await edgesOf(page.locator('.page-links > ul'))
      expect(Math.abs(links.left - main.left)).toBeLessThan(16)
      const table = await edgesOf(page.locator('.rows').first())
      expect(table.right - table.left).toBeGreaterThan(own - 64)
    }
  })

for (const [width, lines] of [
  [375, 6],
  [1280, 2],
  [1800, 2],
] as const)
  test(`the filters of requests are ${lines} lines on ${width} px, and both days of a span are in one`, async () => {
    await page.setViewportSize({ width, height: 900 })
    await go('/requests')
    await page.locator('.rows').waitFor()
    if (width === 375) await page.locator('.fold > summary').click()
    const [from, to] = [await edgesOf(page.getByLabel('From')), await edgesOf(page.getByLabel('To', { exact: true }))]
    expect(to.top).toBe(from.top)
    expect(to.left).toBeGreaterThan(from.right)
    const bottoms = await page
      .locator('form.filters > *')
      .evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().bottom)))
    expect(new Set(bottoms).size).toBe(lines)
    const [dearest, id] = [page.getByRole('button', { name: 'Dearest first' }), page.getByLabel('Request id')]
    if (width > 375) expect((await edgesOf(dearest)).top).toBe((await edgesOf(id)).top)
    expect((await edgesOf(id)).top).toBe((await edgesOf(page.getByRole('button', { name: 'Open', exact: true }))).top)
  })

test('cards of upstreams stand beside each other on a wide screen, and below each other on others', async () => {
  for (const [width, areBeside] of [
    [1280, false],
    [1800, true],
  ] as const) {
    await page.setViewportSize({ width, height: 900 })
    await go('/upstreams')
    const cards = page.locator('section.card')
    await cards.nth(1).waitFor()
    const [first, second] = [await edgesOf(cards.nth(0)), await edgesOf(cards.nth(1))]
    expect([width, second.top === first.top, second.left >= first.right]).toEqual([width, areBeside, areBeside])
  }
})

test('nothing spent, no request and a plan without models are said in words, not by an empty table', async () => {
  await page.setViewportSize({ width: 1280, height: 900 })
  const day = 86_400_000
  const span = new URLSearchParams({
    from: new Date(Date.now() - 390 * day).toISOString(),
    to: new Date(Date.now() - 389 * day).toISOString(),
  })
  await go(`?${span}`)
  await page.getByText('Nothing was spent in this span').waitFor()
  await page.getByText('No request ended in this span').waitFor()
  expect(await page.getByRole('region', { name: /Who spent most|Accounts with the most requests/ }).count()).toBe(0)
  await go('/catalog')
  await page.getByRole('row', { name: /^small none: its keys can ask no model/ }).waitFor()
})

test('why requests were refused takes half of the width, below the chart of the requests', async () => {
  await go('')
  const reasons = await edgesOf(page.getByRole('region', { name: 'Refused, by reason' }))
  expect(reasons.right).toBeLessThan((await edgesOf(page.locator('.chart-card').nth(1))).left)
})

test('nothing has the decimals of its column, and its dollars stand below the others', async () => {
  await go('/accounts')
  const amounts = page.getByRole('region', { name: 'Accounts' }).locator('td:nth-child(5) data.usd')
  await amounts.first().waitFor()
  const found = await amounts.evaluateAll((all) => all.map((one) => [one.textContent, one.getBoundingClientRect()] as const))
  expect(new Set(found.map(([text]) => text))).toEqual(new Set(['$0.000000', '$0.000105']))
  expect(new Set(found.map(([, { left }]) => Math.round(left))).size).toBe(1)
  expect(await page.evaluate("getComputedStyle(document.querySelector('a.named code')).textDecorationLine")).toBe('none')
})
