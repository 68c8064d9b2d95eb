/**
 * The console in a real browser: an operator comes in by a link, sees a request the moment it is paid, takes an upstream out, sees what a reload would change and goes
 * out again; nothing moves by itself, nobody's screen reader is flooded, axe-core finds nothing serious, and no page is wider than the screen.
 * Rules: pages.md "Now", "Upstreams", "Catalog", "Console".
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { SIGNAL } from '../../src/ledger/operation.ts'
import { until } from '../support/until.ts'
import { LOOKS, type Look, lookAt } from './axe.ts'
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

/** A page with an operator in it, and what the browser complains about. */
async function enter({ colorScheme, width }: Look = { colorScheme: 'light', width: 1280 }) {
  const context = await browser.newContext({ colorScheme, viewport: { width, height: 800 } })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => message.type() !== 'log' && complaints.push(message.text()))
  page.on('pageerror', ({ message }) => complaints.push(message))
  await enterConsole(page, sample.gateway)
  return { page, complaints, close: () => context.close() }
}

const figureOf = (page: Page, name: string): Promise<string | null> =>
  page
    .locator('.figures > div', { has: page.locator('dt', { hasText: name }) })
    .locator('dd')
    .first()
    .textContent()

test('a link signs an operator in once, and a request is on the page as soon as it is paid', async () => {
  const { page, complaints, close } = await enter()
  const before = Number(await figureOf(page, 'Last minute'))
  await sample.pay()
  await until(async () => Number(await figureOf(page, 'Last minute')) === before + 1)
  await until(async () => (await figureOf(page, 'Charged')) !== '$0.00')
  expect(complaints).toEqual([])
  await close()
})

test('the margin of the day is what is left, below nothing too, beside its cost; where no cost is known it is none, and it leads to its rows', async () => {
  const { page, close } = await enter()
  try {
    const margin = page.locator('.figures > div', { has: page.locator('dt', { hasText: 'Margin' }) })
    const told = async () => [await figureOf(page, 'Margin'), await margin.locator('dd').nth(1).textContent()]
    for (const [requests, charged_usd, upstream_cost_usd, margin_usd, expected] of [
      [3, '1.00', '0.25', '0.75', ['$0.75', 'cost $0.25']],
      [3, '1.00', '1.25', '-0.25', ['−$0.25', 'cost $1.25']],
      [0, '0.00', '0.00', '0.00', ['–', 'no known cost']],
    ] as const) {
      await page.route('**/console/api/margin?*', async (route) => {
        const answer = await route.fetch()
        const { total, ...document } = (await answer.json()) as { total: object }
        const json = { ...document, total: { ...total, requests, charged_usd, upstream_cost_usd, margin_usd } }
        await route.fulfill({ json })
      })
      await page.reload()
      await page.getByText(expected[1], { exact: true }).waitFor()
      expect(await told()).toEqual([...expected])
      await page.unroute('**/console/api/margin?*')
    }
    const { pathname, searchParams } = new URL((await margin.getByRole('link').getAttribute('href')) ?? '', page.url())
    expect([pathname, searchParams.get('from')]).toEqual(['/console/margin', searchParams.get('to')])
  } finally {
    await close()
  }
})

test('figures move, nothing else does; what is said aloud is said on demand', async () => {
  const { page, close } = await enter()
  // What happened and what was spent are asked for by themselves, and come into their places when the figures may be there already.
  await page.getByRole('region', { name: 'Accounts with the most requests' }).waitFor()
  await page.getByRole('region', { name: 'Who spent most, by model' }).waitFor()
  const place = () => page.locator('h2').evaluateAll((heads) => heads.map((head) => head.getBoundingClientRect().top))
  const before = await place()
  await sample.pay()
  await Bun.sleep(2_500)
  expect(await place()).toEqual(before)
  const spoken = page.locator('.page-head [role=status]')
  expect(await spoken.textContent()).toBe('')
  expect(await page.locator('.now [aria-live], .now [role=status], .now [role=alert]').count()).toBe(0)
  await page.getByRole('button', { name: 'Copy as text' }).click()
  expect(await spoken.textContent()).toMatch(/^Tollgate [^\n]+\n(?:- [^\n]+\n)*\d+ requests? in flight, .* Charged today \$/)
  await close()
})

test('a connection that is lost is said, and comes back by itself', async () => {
  const { page, close } = await enter()
  await page.route('**/console/api/now', (route) => route.abort())
  await page.reload()
  await page.getByText(/Connection lost, again in \d+ s/).waitFor()
  await page.unroute('**/console/api/now')
  await page.getByText('Live', { exact: true }).waitFor()
  await close()
})

test('a hidden tab asks for nothing, and goes on when it is seen again', async () => {
  const { page, close } = await enter()
  const hide = (isHidden: boolean): Promise<void> =>
    page.evaluate(
      `Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`,
    )
  const asked: string[] = []
  // What was spent is asked for behind the answer of what happened.
  await page.getByRole('region', { name: 'Who spent most, by model' }).waitFor()
  await hide(true)
  await page.getByText('Paused', { exact: true }).waitFor()
  page.on('request', (request) => asked.push(request.url()))
  // What an answer that was under way, or another window, gives cause to ask waits as well.
  await page.evaluate(`dispatchEvent(new Event('focus'))`)
  await Bun.sleep(1_500)
  expect(asked).toEqual([])
  await hide(false)
  await until(() => asked.some((url) => url.includes('/api/history')), 'what waited is asked')
  await page.getByText('Live', { exact: true }).waitFor()
  await close()
})

test('an upstream is taken out with a reason and put back, by keyboard alone', async () => {
  const { page, close } = await enter()
  const tab = await page.context().newPage()
  await tab.goto(`${new URL(page.url()).origin}/console`)
  await tab.getByText('Live', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Upstreams', exact: true }).click()
  const card = page.getByRole('region', { name: 'upstream-1', exact: true })
  await card.getByRole('button', { name: 'Take out…' }).focus()
  await page.keyboard.press('Enter')
  await page.getByLabel('Reason').fill('vendor <b>maintenance</b>')
  await page.keyboard.press('Enter')
  await card.getByText('vendor <b>maintenance</b>').waitFor()
  await sample.gateway.world.ledger.operate({ kind: 'reload', changes: 2, node: null, now: Date.now() }, SIGNAL)
  await page.getByRole('link', { name: 'Overview', exact: true }).click()
  // What is wrong now: in one sentence at the top, as text for a chat, on the chart's list of events, and in a tab that was open before.
  const incident = page.getByRole('region', { name: 'Is it well' }).getByRole('listitem').filter({ hasText: 'upstream-1' })
  const why = 'taken out by operator@example.com: vendor <b>maintenance</b>; 0 calls still run there'
  await incident.waitFor()
  expect(await incident.textContent()).toMatch(
    new RegExp(
      `^upstream-1 is out since [^,]+, [\\d:]+, ${why}\\. Put it back on the Upstreams page when it works again\\. Open Upstreams$`,
    ),
  )
  expect(await incident.getByRole('link').getAttribute('href')).toBe('/console/upstreams')
  const headings = page.getByRole('heading', { level: 2 })
  const [place, below] = [await incident.boundingBox(), await headings.first().boundingBox()]
  expect(place?.y).toBeLessThan(below?.y ?? 0)
  await tab.locator('.verdict', { hasText: 'upstream-1 is out' }).waitFor()
  await page.getByRole('button', { name: 'Copy as text' }).click()
  expect(await page.locator('.page-head [role=status]').textContent()).toMatch(
    new RegExp(`\\n- upstream-1 is out since [-\\dT:.]+Z, ${why}\\. Put it back`),
  )
  await page.getByText(/^(One event|\d+ events) in this span$/).click()
  await page.getByRole('link', { name: 'upstream upstream-1 out', exact: true }).waitFor()
  await page.getByRole('link', { name: 'configuration reloaded', exact: true }).click()
  await page.getByText('reloaded the configuration: 2 settings changed').waitFor()
  await page.getByText('a signal of the operating system').waitFor()
  await page.getByRole('link', { name: 'Upstreams', exact: true }).click()
  await card.getByRole('button', { name: 'Put back…' }).click()
  await page.getByRole('button', { name: 'Put back', exact: true }).click()
  await card.getByRole('button', { name: 'Take out…' }).waitFor()
  await tab.locator('.verdict', { hasNotText: 'upstream-1' }).waitFor()
  const audit = await sample.gateway.world.reports.ask('test', { kind: 'audit', target: 'upstream-1', limit: 10 })
  expect(typeof audit === 'object' ? audit.rows.map(({ actor, reason }) => [actor, reason]) : audit).toEqual([
    ['person:operator@example.com', ''],
    ['person:operator@example.com', 'vendor <b>maintenance</b>'],
  ])
  await close()
})

test('the overview asks one question after the other, and each upstream is a card with its state, its figures and charts on one scale', async () => {
  const { page, close } = await enter()
  const spread = { p50_ms: 100, p95_ms: 200, p99_ms: 300 }
  const lineOf = (name: string, requests: number, p95_ms: number) => ({
    name,
    requests: [requests, 0],
    refusals: { upstreamBusy: [requests / 4, 0] },
    first_byte: [
      { ...spread, p95_ms },
      { p50_ms: null, p95_ms: null, p99_ms: null },
    ],
  })
  await page.route('**/console/api/history?*', async (route) => {
    const answer = (await (await route.fetch()).json()) as object
    await route.fulfill({ json: { ...answer, lines: [lineOf('upstream-0', 40, 400), lineOf('gone', 20, 200)] } })
  })
  await page.reload()
  const upstreams = page.getByRole('region', { name: 'Upstreams', exact: true })
  const card = (name: string) => upstreams.getByRole('article').filter({ has: page.getByRole('heading', { name }) })
  await upstreams.getByText(/^On one scale: to 40 requests in \d+ (s|min)( \d+ s)?, and to 400 ms for the first byte p95\.$/).waitFor()
  await page.getByRole('region', { name: 'Accounts with the most requests' }).waitFor()
  expect(await page.getByRole('heading', { level: 2 }).allTextContents()).toEqual([
    'Requests',
    'What happened',
    'Money today',
    'Who asked most',
    'Upstreams',
    'Ledger',
    'Process',
  ])
  // One that is configured and had no request stands there, and one that had some and is configured no more.
  expect(await upstreams.getByRole('heading', { level: 3 }).allTextContents()).toEqual([
    'upstream-0 active',
    expect.stringMatching(/^upstream-1 /),
    'gone ',
  ])
  expect(await card('upstream-0').locator('dl').textContent()).toMatch(
    /^Requests40Refused10First byte100 msIn flight\d+Waiting\d+First event/,
  )
  expect(await card('upstream-0').getByRole('link', { name: '40' }).getAttribute('href')).toContain('upstream=upstream-0')
  // Answered, refused, and the steps of the first byte: those of the smaller one are half as high.
  const drawn = (name: string) =>
    card(name)
      .locator('path')
      .evaluateAll((paths) => paths.map((path) => path.getAttribute('d')))
  expect([await drawn('upstream-0'), await drawn('gone')]).toEqual([
    ['M0.5 40V10', 'M0.5 10V0', 'M0 0.0h1'],
    ['M0.5 40V25', 'M0.5 25V20', 'M0 20.0h1'],
  ])
  await upstreams.getByRole('button', { name: 'By model' }).click()
  await page.waitForURL(/by=model/)
  await page.getByRole('heading', { level: 2, name: 'Models' }).waitFor()
  await page.unrouteAll({ behavior: 'wait' })
  await close()
})

test('green is an upstream that has answered since its last failure, whatever its breakers say', async () => {
  const { page, close } = await enter()
  const [early, late] = ['2026-11-26T10:00:00.000Z', '2026-11-26T10:00:01.000Z']
  const failed = (at: string) => ({ cause: 'status 429', model: 'large', at })
  let shown: object = {}
  await page.route('**/console/api/upstreams', async (route) => {
    const { data } = (await (await route.fetch()).json()) as { data: readonly object[] }
    await route.fulfill({ json: { data: data.map((row) => ({ ...row, ...shown })) } })
  })
  for (const [last_answer, last_failure, badge] of [
    [null, null, 'active'],
    [early, failed(early), 'active'],
    [late, failed(early), 'active'],
    [early, failed(late), 'failed when last asked'],
    [null, failed(late), 'has not answered yet'],
  ] as const) {
    shown = { last_answer, last_failure }
    await page.getByRole('link', { name: 'Overview', exact: true }).click()
    await page.getByRole('link', { name: 'Upstreams', exact: true }).click()
    await page
      .getByRole('region', { name: 'upstream-1', exact: true })
      .getByRole('heading', { name: `upstream-1 ${badge}`, exact: true })
      .waitFor()
  }
  await close()
})

test('what a reload would change is seen, and not done', async () => {
  const { page, close } = await enter()
  await page.getByRole('link', { name: 'Catalog', exact: true }).click()
  await page.getByRole('button', { name: 'What would a reload change?' }).click()
  const preview = page.getByRole('region', { name: 'What a reload would change' })
  await preview.getByText('3 models changed, 1 setting of the gateway.').waitFor()
  const haiku = preview.getByRole('article').filter({ hasText: 'haiku' })
  expect(await haiku.textContent()).toBe('haiku model changedinput$1.00 → $2.00 a million +100 %output$5.00 → $10.00 a million +100 %')
  await lookAt(page, 'Reload')
  expect(sample.gateway.world.limits().requestsPerMinute).toBe(100_000)
  await close()
})

test('what past requests would have cost under the file is asked by keyboard, by model and account', async () => {
  const { page, complaints, close } = await enter()
  await sample.pay()
  await sample.gateway.idle()
  const { costPicos } = sample.gateway.receipts().at(-1) ?? { costPicos: 0n }
  await page.getByRole('link', { name: 'Catalog', exact: true }).click()
  await page.getByRole('button', { name: 'What would past requests have cost?' }).focus()
  await page.keyboard.press('Enter')
  const answer = page.getByRole('region', { name: 'What past requests would have cost', exact: true })
  await answer.getByText('under the file.').first().waitFor()
  expect(await answer.getByRole('status').filter({ hasText: 'charged' }).textContent()).toMatch(
    /^\d+ receipts? since .*: \$[\d.]+ charged, \$[\d.]+ under the file\.$/,
  )
  const amounts = await answer
    .getByRole('region', { name: 'Receipts by model' })
    .locator('tbody tr')
    .first()
    .locator('data')
    .evaluateAll((figures) => figures.map((figure) => figure.getAttribute('value')))
  const [charged = 0, repriced = 0, difference = 0] = amounts.map((exact) => Math.round(Number(exact) * 1e12))
  expect(charged).toBeGreaterThanOrEqual(Number(costPicos))
  expect([repriced, difference]).toEqual([charged * 2, charged])
  expect(await answer.getByRole('region', { name: 'Receipts by account' }).locator('tbody tr').count()).toBe(1)
  await lookAt(page, 'What if')
  expect(complaints).toEqual([])
  await close()
})

test('a session that is ended elsewhere leads to the sign-in, and so does signing out', async () => {
  const { page, close } = await enter()
  sample.gateway.people().db.run("DELETE FROM session WHERE listener = 'console'")
  await page.getByLabel('Password').waitFor()
  await close()
  const again = await enter()
  await again.page.locator('.menu summary').click()
  await again.page.getByRole('button', { name: 'Sign out' }).click()
  await again.page.getByLabel('Password').waitFor()
  await again.close()
})

test('the menu leads to the pages for operators', async () => {
  const { page, close } = await enter()
  await page.locator('.menu summary').click()
  await page.getByRole('link', { name: 'How to operate' }).click()
  await page.getByRole('heading', { name: 'Install and run' }).waitFor()
  expect(new URL(page.url()).pathname).toBe('/docs/operate')
  await close()
})

for (const look of LOOKS)
  test(`axe-core finds nothing serious, and nothing is wider than the screen: ${look.colorScheme}, ${look.width} px`, async () => {
    const { page, complaints, close } = await enter(look)
    expect(await page.evaluate('scrollY'), 'the first page begins at its top, where the ways to others are').toBe(0)
    for (const way of ['Overview', 'Upstreams', 'Catalog']) {
      await page.getByRole('link', { name: way, exact: true }).click()
      // A table without rows yet has no height on a phone.
      await page.locator('.rows').first().waitFor({ state: 'attached' })
      await lookAt(page, way)
    }
    expect(complaints).toEqual([])
    await close()
  })
