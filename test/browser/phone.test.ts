/**
 * What a designer found wrong, in a real browser: on a phone filters are one line that says what is chosen, and the page's own link is in sight; the console's links are in groups;
 * a sentence and an axis are not cut; no limit is said, and nobody is warned of an operator. Rules: pages.md "Tables", "Now".
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { openBrowser } from './chromium.ts'
import { sampleBooks } from './sample-books.ts'
import { type SampleConsole, sampleConsole } from './sample-console.ts'
import { enterConsole } from './sign-in.ts'

setDefaultTimeout(60_000)

/** Each text that a canvas is given to the left of a place, and how much of it is beyond the canvas's left edge. */
const RECORD = `(() => {
  globalThis.cutTexts = []
  globalThis.axisTexts = []
  const { fillText } = CanvasRenderingContext2D.prototype
  CanvasRenderingContext2D.prototype.fillText = function (text, x, ...rest) {
    if (this.textAlign === 'right') {
      axisTexts.push(text)
      if (x + this.getTransform().e < this.measureText(text).width) cutTexts.push(text)
    }
    return fillText.call(this, text, x, ...rest)
  }
})()`

let sample: SampleConsole
let browser: Browser
let page: Page
beforeAll(async () => {
  sample = await sampleConsole()
  await sampleBooks(sample.gateway)
  await sample.pay()
  browser = await openBrowser()
  page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await page.addInitScript(RECORD)
  await enterConsole(page, sample.gateway)
})
afterAll(async () => {
  await browser.close()
  await sample.stop()
})

async function go(path: string, width: number): Promise<void> {
  await page.setViewportSize({ width, height: 900 })
  await page.goto(`${new URL(page.url()).origin}/console${path}`)
  await page.locator('.page-links').waitFor()
}

const FIRST_FILTER = { '/requests': 'Model', '/audit': 'Account, key or other', '/explore': 'Only model' } as const
const WIDTHS = [320, 375, 768, 1280, 1920]

test('filters are one line on a phone, which the keyboard opens, and stand open where there is room', async () => {
  for (const width of WIDTHS)
    for (const [path, label] of Object.entries(FIRST_FILTER)) {
      await go(path, width)
      const summary = page.locator('.fold > summary')
      const field = page.getByLabel(label, { exact: true }).first()
      await page.locator('.fold').waitFor({ state: 'attached' })
      const isPhone = width < 640
      expect([path, width, await summary.isVisible(), await field.isVisible()]).toEqual([path, width, isPhone, !isPhone])
      if (!isPhone) continue
      await summary.focus()
      await page.keyboard.press('Enter')
      await field.waitFor()
    }
  await page.setViewportSize({ width: 375, height: 900 })
  await page.locator('.fold > summary').waitFor()
})

test('the line of the filters says what is chosen, by its name', async () => {
  await go('/requests?outcome=finished&model=haiku&from=2026-01-01', 375)
  await page.getByText(/^3 filters: /).waitFor()
  expect(await page.locator('.fold > summary').textContent()).toMatch(/^3 filters: model haiku, outcome \S+, from 2026-01-01$/)
  await go('/requests', 375)
  await page.getByText('no filters', { exact: true }).waitFor()
  await go('/explore?from=2026-11-01&to=2026-11-02&by=model,key&measure=requests&model=haiku', 375)
  await page.getByText('Requests by model and key, 2026-11-01 – 2026-11-02 by day; 1 filter: model haiku', { exact: true }).waitFor()
})

test('a page that is opened by its address has its own link in sight', async () => {
  for (const width of WIDTHS)
    for (const path of ['', '/requests', '/audit', '/catalog']) {
      await go(path, width)
      const { x = -1, width: own = 0 } = (await page.locator('.page-links [aria-current]').boundingBox()) ?? {}
      expect([path, width, x >= 0 && x + own <= width]).toEqual([path, width, true])
    }
})

test('links of one matter stand together under its name, in one row', async () => {
  await go('', 1280)
  for (const [name, links] of [
    ['Customers', 'Accounts Keys Requests'],
    ['Money', 'Explore Margin Codes'],
    ['Access', 'People Tokens Audit'],
    ['Gateway', 'Upstreams Catalog'],
  ] as const)
    expect(await page.getByRole('list', { name, exact: true }).getByRole('link').allTextContents()).toEqual(links.split(' '))
  const tops = await page.locator('.page-links a').evaluateAll((links) => links.map((link) => link.getBoundingClientRect().top))
  expect([tops.length, new Set(tops).size]).toEqual([12, 1])
  expect(await page.evaluate("(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.page-links'))")).toBe(
    0,
  )
})

test('the sentence of the spend is read whole at every width', async () => {
  for (const width of WIDTHS) {
    await go('', width)
    const sentence = page.getByRole('region', { name: 'Spend', exact: true }).locator('.readout')
    await sentence.waitFor()
    expect([width, await sentence.evaluate((one) => one.scrollWidth - one.clientWidth)]).toEqual([width, 0])
  }
})

test('the texts at the left of a chart are not cut, however small the amounts', async () => {
  await page.route('**/console/api/explore?*', async (route) => {
    const answer = await route.fetch()
    const text = await answer.text()
    await route.fulfill({
      response: answer,
      body: text.replaceAll(/"values":\[[^\]]*\]/g, (all) => all.replaceAll(/"[\d.]+"/g, '"0.000023"')),
    })
  })
  for (const width of WIDTHS) {
    await go('/explore', width)
    await page.locator('canvas').waitFor()
    await page.waitForFunction("axisTexts.some((text) => text.startsWith('$0.0000'))")
    expect([width, await page.evaluate<string[]>('cutTexts')]).toEqual([width, []])
  }
  await page.unroute('**/console/api/explore?*')
})

test('a plan without a limit says so, and "operator" is no warning', async () => {
  await go('/catalog', 1280)
  const plans = page.getByRole('region', { name: 'Plans' }).first().locator('tbody td')
  await plans.first().waitFor()
  const texts = await plans.allTextContents()
  expect(texts).toContain('no limit')
  expect(texts).not.toContain('')
  await go('/people', 1280)
  const badge = page.locator('.badge', { hasText: /^operator$/ }).first()
  await badge.waitFor()
  expect(await badge.getAttribute('class')).toBe('badge')
})
