/**
 * What operators and customers come for, done as they do it, by keyboard: why requests were refused at a moment and whose they were, and from a bar of a chart to its
 * requests. Rules: pages.md "History", "Spend", "Tables".
 */

import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { DAY_MS, dayAt, isoTime } from '../../src/core/utc.ts'
import { HOUR_MS } from '../../src/core/windows.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { makeHistory } from '../support/history.ts'
import { randomFrom, SEED } from '../support/seed.ts'
import { until } from '../support/until.ts'
import { openBrowser } from './chromium.ts'
import { signIn } from './sign-in.ts'

setDefaultTimeout(120_000)

let gateway: TestGateway
let browser: Browser
const complaints: string[] = []
beforeAll(async () => {
  gateway = await startTestGateway()
  await makeHistory(gateway, randomFrom(SEED), 60)
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  await gateway.stop()
})

afterEach(() => expect(complaints.splice(0)).toEqual([]))

async function signedIn(listener: 'console' | 'cabinet'): Promise<Page> {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage()
  page.on('pageerror', ({ message }) => complaints.push(message))
  await signIn(page, gateway, listener)
  // It would rest where a chart may be drawn, and point at one of its bars.
  await page.mouse.move(0, 0)
  await page.getByRole('link', { name: listener === 'console' ? 'Overview' : 'Spend', exact: true }).waitFor()
  return page
}

test('why a request was refused at a moment, and whose it was: the bar of the minute, alone, has the reason and the account', async () => {
  const secret = await gateway.createKey({ id: 'key_poor', balanceUsd: '0.000001' })
  const body = { model: 'sonnet', max_tokens: 16, messages: [{ role: 'user', content: 'Hi' }] }
  const ask = async () => {
    const answer = await gateway.post('/v1/messages', secret, body)
    await answer.text()
    await gateway.idle()
    return answer.status
  }
  // The first may use up what is there, the next finds nothing.
  expect([await ask(), await ask()].at(-1)).toBe(429)
  const page = await signedIn('console')
  try {
    const chart = page.getByRole('slider', { name: /^Parts of the chart/ }).first()
    const reasons = page.getByRole('region', { name: 'Refused, by reason' })
    await until(async () => {
      await page.reload()
      await chart.waitFor({ state: 'attached' })
      return (await reasons.count()) > 0
    }, 'the refusals are in the history')
    await chart.focus()
    await page.keyboard.press('End')
    const readout = page.locator('.readout').first()
    for (let back = 0; back < 60 && !/[1-9]\d* refused/.test((await readout.textContent()) ?? ''); back++)
      await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Shift+Enter')
    await page.waitForURL(/from=/)
    const asked = new URL(page.url()).searchParams
    expect(Date.parse(asked.get('to') ?? '') - Date.parse(asked.get('from') ?? '')).toBe(60_000)
    await reasons.getByRole('cell', { name: 'insufficient balance' }).waitFor()
    await page.getByRole('region', { name: 'Accounts with the most requests' }).getByRole('link', { name: 'acc_poor' }).press('Enter')
    await page.waitForURL(/\/console\/accounts\/acc_poor$/)
    await page.getByText('Balance', { exact: true }).first().waitFor()
  } finally {
    await page.context().close()
  }
})

test('who spent most in the overview’s time: account, key or model, each with its change, and its figure leads to as many requests', async () => {
  const page = await signedIn('console')
  try {
    await page.getByRole('button', { name: '7 days' }).press('Enter')
    await page.getByRole('region', { name: 'Spend', exact: true }).getByRole('button', { name: 'By account' }).press('Enter')
    const table = page.getByRole('region', { name: 'Who spent most, by account' })
    const row = table.getByRole('row').filter({ has: page.getByRole('link', { name: 'acc_south' }) })
    await row.waitFor()
    const own = gateway.receipts().filter(({ accountId }) => accountId === 'acc_south')
    // By the seed all of them may be waived.
    expect(await row.getByRole('cell').last().textContent()).toBe(own.some(({ costPicos }) => costPicos > 0n) ? 'new' : '±0 %')
    await row.getByRole('link', { name: String(own.length), exact: true }).press('Enter')
    await page.waitForURL(/\/console\/requests\?account_id=acc_south&from=/)
    await until(async () => (await page.locator('tbody tr').count()) === own.length)
    await page.goBack()
    await page.getByRole('button', { name: 'By key' }).press('Enter')
    await page.getByRole('region', { name: 'Who spent most, by key' }).getByRole('link', { name: 'laptop' }).waitFor()
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toMatchObject({ span: 'week', spent: 'key' })
  } finally {
    await page.context().close()
  }
})

/** Where the chart of the spend is, once it is in the middle of the screen; while there is none, a place without width. */
const MIDDLE_OF_SPEND = `(() => {
  const over = document.querySelector('section[aria-label="Spend"] .u-over')
  over?.scrollIntoView({ block: 'center' })
  const { left = 0, top = 0, width = 0, height = 0 } = over?.getBoundingClientRect() ?? {}
  return { x: left, y: top + height / 2, width }
})()`

test('what is drawn over in the chart of the spend is the time of all of the overview: its buttons, the other charts and the tables', async () => {
  const page = await signedIn('console')
  try {
    await page.goto(`${new URL(page.url()).origin}/console?span=week`)
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    // A chart that an answer draws anew under the pointer takes no stroke.
    await until(async () => {
      const { x, y, width }: Record<'x' | 'y' | 'width', number> = await page.evaluate(MIDDLE_OF_SPEND)
      await page.mouse.move(x + width / 4, y)
      await page.mouse.down()
      await page.mouse.move(x + width / 2, y, { steps: 4 })
      await page.mouse.up()
      return (await page.evaluate<string>('location.search')).includes('from=')
    }, 'the stroke is taken')
    const { from = '', to = '' } = Object.fromEntries(new URLSearchParams(await page.evaluate<string>('location.search')))
    expect((Date.parse(to) - Date.parse(from)) / DAY_MS, 'a quarter of the seven days').toBeWithin(1.5, 2.2)
    const isAskedFor = (path: string) =>
      asked.some(
        (url) => url.includes(path) && new URL(url).searchParams.get('from') === from && new URL(url).searchParams.get('to') === to,
      )
    await until(async () => isAskedFor('/console/api/history') && isAskedFor('/console/api/spent'), 'all of the page is of this time')
    expect(await page.getByRole('button', { name: '7 days' }).getAttribute('aria-pressed')).toBe('false')
  } finally {
    await page.context().close()
  }
})

test('from a bar of the spend to its requests by keyboard alone, with the bar’s sum told on the way', async () => {
  const page = await signedIn('cabinet')
  try {
    await page.getByRole('link', { name: 'Spend', exact: true }).press('Enter')
    const bars = page.getByRole('slider', { name: /^Bars of the chart/ })
    await bars.waitFor({ state: 'attached' })
    await bars.focus()
    await page.keyboard.press('End')
    await page.keyboard.press('ArrowLeft')
    const told = async () => (await bars.getAttribute('aria-valuetext')) ?? ''
    const isTold = async () => ((await page.locator('.readout').textContent()) ?? '').includes(` on ${(await told()).split(':')[0]}`)
    await until(isTold)
    const width = () => page.locator('.chart canvas').getAttribute('width')
    const before = await width()
    await page.setViewportSize({ width: 700, height: 800 })
    await until(async () => (await width()) !== before)
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
    expect(await isTold(), 'a chart that is drawn anew keeps the bar that is pointed at').toBe(true)
    expect(await told()).toMatch(/: \$/)
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/requests\?from=/)
    const asked = new URL(page.url()).searchParams
    const [from, to] = [asked.get('from') ?? '', asked.get('to') ?? ''].map((moment) => Date.parse(moment))
    expect((to ?? 0) - (from ?? 0)).toBe(86_400_000)
    const own = gateway
      .receipts()
      .filter(({ accountId, settledAt }) => accountId === 'acc_north' && settledAt >= (from ?? 0) && settledAt < (to ?? 0))
    await until(async () => (await page.locator('tbody tr').count()) === own.length)
  } finally {
    await page.context().close()
  }
})

test('of a day that is shown by hour a bar opens the requests of its hour alone', async () => {
  const page = await signedIn('cabinet')
  try {
    const hourOf = (at: number): number => Math.floor(at / HOUR_MS)
    const own = gateway.receipts().filter(({ accountId }) => accountId === 'acc_north')
    // A day with requests of several hours, so that an hour of it is not all of it.
    const [of = []] = [...Map.groupBy(own, ({ settledAt }) => dayAt(settledAt)).values()].toSorted((a, b) => b.length - a.length)
    const [hour = 0, ofHour = []] =
      Map.groupBy(of, ({ settledAt }) => hourOf(settledAt))
        .entries()
        .next().value ?? []
    expect(ofHour.length).toBeLessThan(of.length)
    const day = isoTime(hour * HOUR_MS).slice(0, 10)
    await page.goto(`${new URL(page.url()).origin}/cabinet/a/acc_north/spend?from=${day}&to=${day}`)
    const bars = page.getByRole('slider', { name: /^Bars of the chart/ })
    await bars.waitFor({ state: 'attached' })
    await bars.focus()
    await page.keyboard.press('Home')
    for (let at = 0; at < hour % 24; at++) await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/requests\?from=/)
    const { from, to } = Object.fromEntries(new URL(page.url()).searchParams)
    expect([from, to].map((moment) => Date.parse(moment ?? ''))).toEqual([hour * HOUR_MS, (hour + 1) * HOUR_MS])
    await until(async () => (await page.locator('tbody tr').count()) === ofHour.length)
  } finally {
    await page.context().close()
  }
})
