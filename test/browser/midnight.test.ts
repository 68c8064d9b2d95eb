/**
 * Requests at midnight, in browsers west and east of UTC: a day that is asked for is the reader's own, with its first and its last millisecond and nothing of the days
 * beside it, also where the clock is set back on it; in the cabinet, where the file has the same, and on the console. Rules: pages.md "Zones".
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { createKey, holdRequest, settlement, usd } from '../support/ledger.ts'
import { until } from '../support/until.ts'
import { openBrowser } from './chromium.ts'
import { signIn } from './sign-in.ts'

setDefaultTimeout(60_000)

/** A day of a zone, when it begins and ends, and how the page shows it. */
const DAYS = [
  ['America/Los_Angeles', '2026-11-20', '2026-11-20T08:00:00.000Z', '2026-11-21T08:00:00.000Z', '20 Nov'],
  // Of 25 hours: the clock is set back on it.
  ['America/Los_Angeles', '2026-11-01', '2026-11-01T07:00:00.000Z', '2026-11-02T08:00:00.000Z', '1 Nov'],
  ['Asia/Kolkata', '2026-11-20', '2026-11-19T18:30:00.000Z', '2026-11-20T18:30:00.000Z', '20 Nov'],
] as const

const before = (iso: string): string => new Date(Date.parse(iso) - 1).toISOString()
const EDGES = DAYS.flatMap(([, , begin, end]) => [before(begin), begin, before(end), end]).toSorted()

let gateway: TestGateway
let browser: Browser
beforeAll(async () => {
  gateway = await startTestGateway()
  const { ledger } = gateway
  const now = Date.now()
  await gateway.operate({ ...createKey('key_north', { balanceUsd: '100' }), now })
  await ledger.findKey(createKey('key_north').secretHash)
  for (const [index, iso] of EDGES.entries()) {
    await ledger.hold(holdRequest(`req_${index}`, 'key_north', usd('0.05'), { now }))
    await ledger.settle(settlement(`req_${index}`, { input: 10 }, { now: Date.parse(iso) }))
  }
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  await gateway.stop()
})

const momentsOf = (page: Page): Promise<(string | null)[]> =>
  page.locator('tbody time').evaluateAll((found) => found.map((one) => (one as unknown as { dateTime: string }).dateTime))

for (const [timezoneId, day, begin, end, shown] of DAYS)
  for (const listener of ['cabinet', 'console'] as const)
    test(`the requests of ${day} in ${timezoneId} are those from its midnight to the next, on the ${listener}; in UTC others`, async () => {
      const context = await browser.newContext({ timezoneId, locale: 'en-GB' })
      const page = await context.newPage()
      await signIn(page, gateway, listener)
      const { base } = gateway.people().origins(listener)
      await page
        .getByText(listener === 'cabinet' ? 'New key' : 'Live', { exact: true })
        .first()
        .waitFor()
      await page.goto(
        `${base}/${listener}${listener === 'cabinet' ? '/a/acc_north' : ''}/requests?account_id=acc_north&from=${day}&to=${day}`,
      )
      await page.getByText(/^Times and days are in (America|Asia)/).waitFor()
      const within = (from: string, to: string) => EDGES.filter((iso) => iso >= from && iso < to).toReversed()
      const own = within(begin, end)
      expect(own.filter((iso) => [begin, before(end)].includes(iso))).toHaveLength(2)
      await page.locator('tbody time').first().waitFor()
      expect(await momentsOf(page)).toEqual(own)
      const texts = await page.locator('tbody time').allTextContents()
      expect([texts.at(0), texts.at(-1)]).toEqual([`${shown}, 23:59:59`, `${shown}, 00:00:00`])
      expect(texts.filter((text) => !text.startsWith(`${shown}, `))).toEqual([])
      if (listener === 'cabinet') {
        const file = await page.request.get(
          new URL((await page.getByRole('link', { name: /CSV/ }).getAttribute('href')) ?? '', page.url()).href,
        )
        expect((await file.text()).trim().split('\n')).toHaveLength(1 + own.length)
      }

      await page.getByRole('button', { name: 'Show UTC' }).click()
      const utc = within(`${day}T00:00:00.000Z`, `${day}T23:59:59.999Z`)
      expect(utc).not.toEqual(own)
      await until(async () => JSON.stringify(await momentsOf(page)) === JSON.stringify(utc))
      await context.close()
    })
