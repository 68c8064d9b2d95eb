/**
 * Charts draw their figures: with answers that are known, what stands on the canvas is read and compared – refusals stacked by reason, the three times of the first byte, spend
 * in hours as wide as they are, a dashed line after a kill. A bar leads to its rows by a click and by keyboard. Rules: pages.md "History", "Explore", "Tables".
 */

import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { makeHistory } from '../support/history.ts'
import { randomFrom, SEED } from '../support/seed.ts'
import { openBrowser } from './chromium.ts'
import { amountOf, legendOf, runsIn } from './drawn.ts'
import { signIn } from './sign-in.ts'

setDefaultTimeout(120_000)

let gateway: TestGateway
let browser: Browser
const complaints: string[] = []
beforeAll(async () => {
  gateway = await startTestGateway()
  await makeHistory(gateway, randomFrom(SEED), 30)
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  await gateway.stop()
})
afterEach(() => expect(complaints.splice(0)).toEqual([]))

async function signedIn(): Promise<Page> {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 1600 }, timezoneId: 'UTC' })).newPage()
  page.on('pageerror', ({ message }) => complaints.push(message))
  await signIn(page, gateway, 'console')
  // It would rest where a chart may be drawn, and point at one of its bars.
  await page.mouse.move(0, 0)
  await page.getByRole('link', { name: 'Overview', exact: true }).waitFor()
  return page
}

const MINUTES = 60
const FROM = Date.parse('2026-11-26T23:35:00Z')
const iso = (minute: number): string => new Date(FROM + minute * 60_000).toISOString()
const PARTS = Array.from({ length: MINUTES }, (_, minute) => iso(minute))
/** A value for one minute, another for all others. */
const only = <T>(minute: number, value: T, other: T): readonly T[] => PARTS.map((_, at) => (at === minute ? value : other))
/** The middle of a minute, as a share of the chart's width. */
const middleOf = (minute: number): number => (minute + 0.5) / MINUTES

const HISTORY = {
  from: iso(0),
  to: iso(MINUTES),
  part_s: 60,
  parts: PARTS,
  all: {
    name: '',
    requests: only(20, 10, 0),
    refusals: { insufficientBalance: only(20, 3, 0), rateLimited: only(20, 2, 0) },
    // In the last minute nothing was counted.
    first_byte: only(MINUTES - 1, { p50_ms: null, p95_ms: null, p99_ms: null }, { p50_ms: 100, p95_ms: 400, p99_ms: 1_000 }),
    duration: only(20, { p50_ms: 1, p95_ms: 1, p99_ms: 1 }, { p50_ms: 1, p95_ms: 1, p99_ms: 1 }),
  },
  lines: [],
  accounts: [],
  marks: [
    { at: iso(40), kind: 'lost', what: '' },
    { at: iso(50), kind: 'reload', what: '' },
  ],
}

const SPENT = {
  by: 'model',
  data: [],
  total: {
    requests: 7,
    usage: { input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
    cache_hit_thousandths: null,
    cost_usd: '0.70',
    before_usd: '0.35',
    waived_usd: '0.00',
    estimated_usd: '0.00',
  },
  from: '2026-11-26T23:00:00Z',
  to: '2026-11-27T01:00:00Z',
  step_s: 3_600,
  places: ['2026-11-26T23:00:00Z', '2026-11-27T00:00:00Z'],
  series: [
    { things: [{ id: 'opus', name: '' }], values: ['0.30', '0.10'] },
    { things: [{ id: 'haiku', name: '' }], values: ['0.10', '0.20'] },
  ],
}

/** The overview with figures that are known. */
async function overview(): Promise<Page> {
  const page = await signedIn()
  await page.route('**/console/api/history?*', (route) => route.fulfill({ json: HISTORY }))
  await page.route('**/console/api/spent?*', (route) => route.fulfill({ json: SPENT }))
  await page.reload()
  await page.locator('section[aria-label="Spend"] canvas').waitFor()
  return page
}

const [REQUESTS, TIMES, SPEND] = [0, 1, 2]
/** Above the highest value there is a tenth of it. */
const room = (high: number): number => high * 1.1

test('refusals stand on what was answered, each reason as high as its count, and nothing where nothing was', async () => {
  const page = await overview()
  try {
    const colours = await legendOf(page, REQUESTS)
    expect(Object.keys(colours)).toEqual(['answered', 'insufficient balance', 'rate limited'])
    const [drawn = [], none = []] = await runsIn(page, REQUESTS, [middleOf(20), middleOf(10)])
    const bars = drawn.filter(({ colour }) => Object.values(colours).includes(colour))
    expect(bars.map(({ colour, low, high }) => [colour, Math.round(low * room(10)), Math.round(high * room(10))])).toEqual([
      [colours['answered'] ?? '', 0, 5],
      [colours['insufficient balance'] ?? '', 5, 8],
      [colours['rate limited'] ?? '', 8, 10],
    ])
    expect(none.some(({ colour }) => Object.values(colours).includes(colour))).toBe(false)
  } finally {
    await page.context().close()
  }
})

test('p50, p95 and p99 of the first byte are lines of their own, each at its time, with a gap where nothing was counted', async () => {
  const page = await overview()
  try {
    const colours = await legendOf(page, TIMES)
    const [drawn = []] = await runsIn(page, TIMES, [middleOf(30) + 0.5 / MINUTES])
    const msOf = (name: string): number | undefined => {
      const line = drawn.find(({ colour }) => colour === colours[name])
      return line && Math.round((((line.low + line.high) / 2) * room(1_000)) / 50) * 50
    }
    expect(['p50', 'p95', 'p99'].map(msOf)).toEqual([100, 400, 1_000])
    // No line falls from the last minute that was counted to zero: there is a gap.
    const after = await runsIn(page, TIMES, [middleOf(MINUTES - 2) + 0.5 / MINUTES, middleOf(MINUTES - 1)])
    expect(after.flat().filter(({ colour }) => Object.values(colours).includes(colour))).toEqual([])
  } finally {
    await page.context().close()
  }
})

test('after a kill there is a dashed line, at a reload a whole one, each at its moment and in every chart', async () => {
  const page = await overview()
  try {
    for (const chart of [REQUESTS, TIMES, SPEND]) {
      const [lost = [], reload = [], beside = []] = await runsIn(
        page,
        chart,
        [40, 50, 45].map((minute) => minute / MINUTES),
      )
      const danger = await page.evaluate<string>("getComputedStyle(document.documentElement).getPropertyValue('--danger')")
      const dashes = lost.filter(({ colour }) => colour === danger)
      expect(dashes.length).toBeWithin(15, 40)
      expect(Math.round(dashes.reduce((sum, { low, high }) => sum + high - low, 0) * 10)).toBe(5)
      const [whole] = reload.toSorted((a, b) => b.high - b.low - (a.high - a.low))
      expect([chart, (whole?.high ?? 0) - (whole?.low ?? 0)]).toEqual([chart, 1])
      expect(beside.some(({ colour }) => colour === danger || colour === whole?.colour)).toBe(false)
    }
  } finally {
    await page.context().close()
  }
})

test('spend of an hour is a bar as wide as its hour, on the axis of the other charts, and the page says of which hours its sum is', async () => {
  const page = await overview()
  try {
    const colours = await legendOf(page, SPEND)
    // The first hour ends after 25 of the minutes: a bar reaches from edge to edge but for the gap.
    const minutes = [1, 20, 24, 26, 40.5, 59]
    const drawn = await runsIn(
      page,
      SPEND,
      minutes.map((minute) => minute / MINUTES),
    )
    const cents = (name: string) => drawn.map((runs) => Math.round(amountOf(runs, colours[name] ?? '', room(40))))
    expect([cents('opus'), cents('haiku')]).toEqual([
      [30, 30, 30, 10, 10, 10],
      [10, 10, 10, 20, 20, 20],
    ])
    const sum = page.getByRole('region', { name: 'Spend', exact: true }).locator('.readout')
    expect(await sum.textContent()).toBe('$0.70 spent from 26 Nov, 23:00 to 27 Nov, 01:00, 100 % more than in the same time before')
    const link = new URL((await sum.getByRole('link').getAttribute('href')) ?? '', page.url())
    expect(Object.fromEntries(link.searchParams)).toEqual({ from: SPENT.from, to: SPENT.to })
  } finally {
    await page.context().close()
  }
})

/** Where a chart's plot is, in pixels of the screen. */
const plotOf = async (page: Page, chart: number) =>
  (await page.locator('.chart .u-over').nth(chart).boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }

async function clickAt(page: Page, chart: number, share: number): Promise<void> {
  // The pointer reaches nothing below the edge of the window.
  await page.locator('.chart .u-over').nth(chart).scrollIntoViewIfNeeded()
  const { x, y, width, height } = await plotOf(page, chart)
  await page.mouse.click(x + share * width, y + height / 2)
}

const REQUESTS_PAGE = /\/console\/requests\?/
const searchOf = (page: Page): Record<string, string> => Object.fromEntries(new URL(page.url()).searchParams)

test('a click on the overview’s charts, or Enter, opens the requests of that part, and Shift and Enter its time alone', async () => {
  const page = await overview()
  try {
    const minute = { from: iso(20), to: iso(21) }
    const hour = { from: '2026-11-26T23:00:00.000Z', to: '2026-11-27T00:00:00.000Z', order: '-cost' }
    for (const [chart, share, expected] of [
      [REQUESTS, middleOf(20), minute],
      [TIMES, middleOf(20), { ...minute, order: '-time' }],
      [SPEND, middleOf(20), hour],
    ] as const) {
      // Figures that arrive meanwhile may move the chart away from under the pointer.
      const isThere = (): Promise<boolean> =>
        page.waitForURL(REQUESTS_PAGE, { timeout: 1_000 }).then(
          () => true,
          () => false,
        )
      do await clickAt(page, chart, share)
      while (!(await isThere()))
      expect([chart, searchOf(page)]).toEqual([chart, expected])
      await page.goBack()
      await page.locator('section[aria-label="Spend"] canvas').waitFor()
    }
    const steps = page.getByRole('slider', { name: /^Parts of the chart/ })
    await steps.nth(SPEND).focus()
    await page.keyboard.press('Home')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/console\/requests\?/)
    expect(searchOf(page)).toEqual(hour)
    await page.goBack()
    await steps.nth(REQUESTS).focus()
    await page.keyboard.press('End')
    await page.keyboard.press('Shift+Enter')
    await page.waitForURL(/\/console\?/)
    expect(searchOf(page)).toMatchObject({ from: iso(MINUTES - 1), to: iso(MINUTES) })
  } finally {
    await page.context().close()
  }
})

const DAY_PLACES = ['2026-11-23', '2026-11-24']

/** A page with a chart of two days whose answer is known. */
async function explored(path: string, answer: object): Promise<Page> {
  const page = await signedIn()
  await page.route('**/console/api/explore?*', (route) =>
    route.fulfill({ json: { step: 'day', places: DAY_PLACES, others: null, ...answer } }),
  )
  await page.goto(`${new URL(page.url()).origin}/console/explore?from=2026-11-23&to=2026-11-24&${path}`)
  await page.locator('.chart canvas').waitFor()
  return page
}

const SUMS = { ...SPENT.total, costed_requests: 0 }

test('Explore’s sums are bars on each other, and one leads to the requests of its step by a click and by keyboard', async () => {
  const series = [
    { things: [{ id: 'opus', name: '' }], values: ['3.00', '1.00'] },
    { things: null, values: ['1.00', '0.50'] },
  ]
  const data = [{ ...SUMS, things: [{ id: 'opus', name: '' }] }]
  const page = await explored('model=opus', { by: ['model'], measure: 'spend', series, data, total: SUMS })
  try {
    const colours = await legendOf(page, 0)
    const drawn = await runsIn(page, 0, [0.25, 0.75])
    const tenths = (name: string) => drawn.map((runs) => Math.round(amountOf(runs, colours[name] ?? '', room(40))))
    expect([tenths('opus'), tenths('others')]).toEqual([
      [30, 10],
      [10, 5],
    ])
    const day = { model: 'opus', from: '2026-11-24T00:00:00.000Z', to: '2026-11-25T00:00:00.000Z' }
    await clickAt(page, 0, 0.75)
    await page.waitForURL(/\/console\/requests\?/)
    expect(searchOf(page)).toEqual(day)
    await page.goBack()
    const bars = page.getByRole('slider', { name: /^Bars of the chart/ })
    await bars.focus()
    await page.keyboard.press('End')
    expect(await bars.getAttribute('aria-valuetext')).toBe('24 Nov: $1.50')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/console\/requests\?/)
    expect(searchOf(page)).toEqual(day)
  } finally {
    await page.context().close()
  }
})

test('Explore’s rates lead to the requests of their step, and refusals, which have no rows, to the overview of it', async () => {
  const series = [{ things: [{ id: 'opus', name: '' }], values: ['250', '750'] }]
  const rates = await explored('measure=cache_hits', {
    ...{ by: ['model'], measure: 'cache_hits', series, total: SUMS },
    data: [{ ...SUMS, things: [{ id: 'opus', name: '' }] }],
  })
  const first = { from: '2026-11-23T00:00:00.000Z', to: '2026-11-24T00:00:00.000Z' }
  try {
    const { opus = '' } = await legendOf(rates, 0)
    const at = (await runsIn(rates, 0, [0.25, 0.75])).map((runs) => runs.filter(({ colour }) => colour === opus))
    expect(at.map((runs) => Math.round((((runs[0]?.low ?? 0) + (runs.at(-1)?.high ?? 0)) / 2) * 20) * 50)).toEqual([250, 750])
    await clickAt(rates, 0, 0.25)
    await rates.waitForURL(/\/console\/requests\?/)
    expect(searchOf(rates)).toEqual(first)
  } finally {
    await rates.context().close()
  }
  const counts = { requests: 100, refused: 6, p50_ms: 1, p95_ms: 2, p99_ms: 3 }
  const refusals = await explored('measure=refusals&by=reason', {
    ...{ by: ['reason'], measure: 'refusals', total: counts, lost_after: [] },
    series: [{ ids: ['rateLimited'], values: [4, 2] }],
    data: [{ ...counts, ids: ['rateLimited'] }],
  })
  try {
    const colours = await legendOf(refusals, 0)
    const drawn = await runsIn(refusals, 0, [0.25, 0.75])
    expect(drawn.map((runs) => Math.round(amountOf(runs, colours['rate limited'] ?? '', room(4))))).toEqual([4, 2])
    await refusals.getByRole('slider', { name: 'Bars of the chart: Enter shows the overview of one' }).focus()
    await refusals.keyboard.press('Home')
    await refusals.keyboard.press('Enter')
    await refusals.waitForURL(/\/console\?/)
    expect(searchOf(refusals)).toEqual(first)
  } finally {
    await refusals.context().close()
  }
})
