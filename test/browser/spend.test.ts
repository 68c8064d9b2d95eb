/**
 * Spend and requests in a real browser: a paid stream is on the page within a second with its cost, sums agree, the address says what is shown and the way back
 * works, nothing moves when figures arrive, and axe-core finds nothing serious in either theme on a phone and a desktop.
 * Rules: pages.md "Spend", "Requests of an account".
 */

import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { MODEL_ID, startTestGateway, type TestGateway } from '../support/gateway.ts'
import { makeHistory, sumText } from '../support/history.ts'
import { randomFrom, SEED } from '../support/seed.ts'
import { until } from '../support/until.ts'
import { LOOKS, lookAt } from './axe.ts'
import { openBrowser } from './chromium.ts'

const TIMEOUT_MS = 180_000

let gateway: TestGateway
let browser: Browser
let origin: string
const complaints: string[] = []
beforeAll(async () => {
  gateway = await startTestGateway()
  origin = `http://localhost:${new URL(gateway.url).port}`
  await makeHistory(gateway, randomFrom(SEED), 200)
  browser = await openBrowser()
}, TIMEOUT_MS)
afterAll(async () => {
  await browser.close()
  await gateway.stop()
})
afterEach(() => expect(complaints.splice(0)).toEqual([]))

async function signedIn(accountId: string, options: BrowserContextOptions = {}): Promise<Page> {
  const people = gateway.people()
  const person = await people.known('ann@example.com')
  await people.memberships.join(person.id, { accountId, role: 'owner' })
  const page = await (await browser.newContext(options)).newPage()
  page.on('console', (message) => {
    if (message.type() !== 'log' && !/status of 4\d\d/.test(message.text())) complaints.push(message.text())
  })
  page.on('pageerror', ({ message }) => complaints.push(message))
  await page.goto(await people.signInLink('cabinet', person))
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Keys' }).waitFor()
  return page
}

/** Joins the person to one more account. */
async function signedInElsewhere(accountId: string): Promise<void> {
  const people = gateway.people()
  await people.memberships.join((await people.known('ann@example.com')).id, { accountId, role: 'owner' })
}

const at = (accountId: string, path: string): string => `${origin}/cabinet/a/${accountId}/${path}`
const exactOf = (page: Page, selector: string): Promise<string[]> =>
  page
    .locator(selector)
    .evaluateAll((found) => found.map((one) => (one as unknown as { getAttribute(name: string): string }).getAttribute('value')))

/** The shortest pause between two looks for a newer request, by the page's own clock: a busy machine makes some long, a page that looks too seldom all. */
async function pauseMs(page: Page): Promise<number> {
  const looks = await page.evaluate<[number, number][]>(
    `performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/requests?limit=1')).map((one) => [one.startTime, one.responseEnd])`,
  )
  return Math.min(...looks.slice(1).map(([startedAt], before) => startedAt - (looks[before]?.[1] ?? 0)))
}

test(
  'a paid stream is on a page that looks every second, with its cost, and opened it is its counts times their rates',
  async () => {
    const secret = await gateway.createKey({ id: 'key_new', balanceUsd: '5' })
    const page = await signedIn('acc_new')
    await page.goto(at('acc_new', 'requests'))
    await page.getByText('No requests yet.').waitFor()
    const body = { model: MODEL_ID, max_tokens: 50, stream: true, messages: [{ role: 'user', content: 'Hello' }] }
    const answer = await gateway.post('/v1/messages', secret, body)
    await answer.text()
    await page.locator('tbody tr').waitFor()
    await until(async () => (await pauseMs(page)) < 1_000, 'the page looks again within a second of its last look')
    const row = page.locator('tbody tr').first()
    const receipt = gateway.receipts().findLast(({ accountId }) => accountId === 'acc_new')
    const cost = sumText([`0.${String(receipt?.costPicos).padStart(12, '0')}`])
    expect(await exactOf(page, 'tbody tr:first-child data')).toEqual([cost])

    await row.getByRole('button').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText(receipt?.requestId ?? '').waitFor()
    expect(new URL(page.url()).searchParams.get('request')).toBe(receipt?.requestId ?? '')
    const prices = await exactOf(page, 'dialog tbody td:nth-child(4) data')
    expect([sumText(prices), await exactOf(page, 'dialog tfoot data')]).toEqual([cost, [cost]])
    await page.goBack()
    await dialog.waitFor({ state: 'detached' })

    await page.getByLabel('Request id').fill('req_nowhere')
    await page.keyboard.press('Enter')
    await dialog.getByText(/No request of this account has this id/).waitFor()
    await page.keyboard.press('Escape')
    // What stands behind a dialog takes no focus, so its list would not open.
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('combobox', { name: 'Outcome' }).fill('provider')
    await page.getByRole('option', { name: 'Provider failed' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('No request is like this.').waitFor()
    expect(new URL(page.url()).search).toBe('?outcome=fault')
    let looks = 0
    await page.route(/\/requests\?.*outcome=drain/, (route) =>
      route.fulfill({ json: { data: [], next_cursor: `req_${++looks}`, looked_back_to: '2026-11-03T12:00:00Z', ordered: null } }),
    )
    await page.getByRole('button', { name: 'Outcome: Provider failed: take away' }).click()
    await page.getByRole('combobox', { name: 'Outcome' }).fill('stopped')
    await page.getByRole('option', { name: 'Gateway stopped' }).click()
    await page.getByText('Looked back to 3 Nov 2026 and found none').waitFor()
    expect(looks).toBe(10)
    await page.getByRole('button', { name: 'Look further' }).click()
    await until(async () => looks === 20)
    await page.context().close()
  },
  TIMEOUT_MS,
)

test(
  'a key and a bar lead to their requests, prices and docs are a click away and back, and the account that was looked at last is the first page',
  async () => {
    const page = await signedIn('acc_north')
    await signedInElsewhere('acc_south')
    await page.goto(at('acc_north', 'keys'))
    await page.locator('tbody a.name').first().click()
    await page.getByRole('heading', { name: 'Requests' }).waitFor()
    expect(new URL(page.url()).searchParams.get('key')).toMatch(/^key_/)

    await page.goto(at('acc_north', 'spend?range=7'))
    await page.locator('.chart canvas').waitFor()
    await page.locator('.u-over').hover()
    await page.locator('.u-over').click()
    await page.getByRole('heading', { name: 'Requests' }).waitFor()
    const { searchParams } = new URL(page.url())
    expect(Date.parse(searchParams.get('to') ?? '') - Date.parse(searchParams.get('from') ?? '')).toBe(86_400_000)

    for (const [title, heading] of [
      ['Prices', 'Models'],
      ['Docs', 'Quick start'],
    ] as const) {
      await page.getByRole('link', { name: title, exact: true }).click()
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor()
      await page.getByRole('link', { name: 'Cabinet', exact: true }).click()
      // The way back leads to the account that was looked at last, not to the first.
      await page.waitForURL(`${origin}/cabinet/a/acc_north/keys`)
    }
    await page.goto(at('acc_south', 'spend'))
    await page.getByRole('heading', { name: 'Spend' }).waitFor()
    await page.goto(`${origin}/cabinet`)
    await page.waitForURL(`${origin}/cabinet/a/acc_south/keys`)
    await page.context().close()
  },
  TIMEOUT_MS,
)

test(
  'a page of requests stands in the address: a reload shows the same, the way back the one before, and a turn begins at the top',
  async () => {
    const page = await signedIn('acc_north')
    await page.goto(at('acc_north', 'requests'))
    const firstRow = async (): Promise<string> => (await page.locator('tbody tr').first().textContent()) ?? ''
    const turned = async (to: RegExp, before: string): Promise<string> => {
      await page.waitForURL(to)
      await until(async () => (await firstRow()) !== before)
      return firstRow()
    }
    await page.locator('tbody tr').nth(49).scrollIntoViewIfNeeded()
    const first = await firstRow()
    await page.getByRole('button', { name: 'Older' }).click()
    const second = await turned(/requests\?after=/, first)
    expect(await page.evaluate('scrollY')).toBe(0)
    await page.reload()
    await page.locator('tbody tr').first().waitFor()
    expect(await firstRow()).toBe(second)
    await page.getByRole('button', { name: 'Older' }).click()
    const third = await turned(/requests\?after=/, second)
    await page.getByRole('button', { name: 'Newer' }).click()
    expect(await turned(/requests\?after=/, third)).toBe(second)
    await page.getByRole('button', { name: 'Newer' }).click()
    expect(await turned(/requests$/, second)).toBe(first)
    await page.goBack()
    expect(await turned(/requests\?after=/, first)).toBe(second)
    await page.locator('tbody tr').first().getByRole('button').click()
    await page.getByRole('dialog').waitFor()
    expect(page.url()).toMatch(/after=.*request=/)
    await page.context().close()
  },
  TIMEOUT_MS,
)

test(
  'rows and filters of requests are in the zone of the browser, which is named, or in UTC, which it remembers',
  async () => {
    const page = await signedIn('acc_north', { timezoneId: 'Pacific/Auckland' })
    await page.goto(at('acc_north', 'requests'))
    await page.getByText('Times and days are in Pacific/Auckland.').waitFor()
    const cell = page.locator('tbody tr time').first()
    const shownIn = async (timeZone: string): Promise<boolean> => {
      const iso = (await cell.getAttribute('datetime')) ?? ''
      const options = { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit', timeZone } as const
      return (await cell.textContent()) === new Intl.DateTimeFormat('en-GB', options).format(Date.parse(iso))
    }
    await until(() => shownIn('Pacific/Auckland'))
    const spanOf = async (act: () => Promise<unknown>): Promise<readonly (string | null)[]> => {
      const asked = page.waitForRequest((request) => /requests\?.*to=/.test(request.url()) && !request.url().includes('limit=1'))
      await act()
      const { searchParams } = new URL((await asked).url())
      return [searchParams.get('from'), searchParams.get('to')]
    }
    await page.getByLabel('From').fill('2026-01-10')
    expect(await spanOf(() => page.getByLabel('To', { exact: true }).fill('2026-12-10'))).toEqual([
      '2026-01-09T11:00:00.000Z',
      '2026-12-10T11:00:00.000Z',
    ])
    expect(new URL(page.url()).search).toBe('?from=2026-01-10&to=2026-12-10')
    expect(await spanOf(() => page.getByRole('button', { name: 'Show UTC' }).click())).toEqual([
      '2026-01-10T00:00:00.000Z',
      '2026-12-11T00:00:00.000Z',
    ])
    await until(() => shownIn('UTC'))
    await page.reload()
    await page.getByText('Times and days are in UTC.').waitFor()
    expect(await page.getByLabel('From').inputValue()).toBe('2026-01-10')
    await page.context().close()
  },
  TIMEOUT_MS,
)

test(
  'a bar is told by keyboard as it stands above the chart: the exact sum of its parts, and never nothing',
  async () => {
    const page = await signedIn('acc_north')
    await page.route(/\/api\/accounts\/acc_north\/spend\?/, async (route) => {
      const spend = (await (await route.fetch()).json()) as { places: string[]; series: Record<string, unknown>[] }
      const [one, other] = [
        ['0.05645', '0.0000003'],
        ['0.000000000001', '0'],
      ].map((last) => [...spend.places.slice(last.length).map(() => '0'), ...last])
      const [like] = spend.series
      await route.fulfill({
        json: {
          ...spend,
          series: [
            { ...like, id: 'one', values: one },
            { ...like, id: 'other', values: other },
          ],
        },
      })
    })
    await page.goto(at('acc_north', 'spend'))
    const bars = page.getByRole('slider', { name: /^Bars of the chart/ })
    await bars.waitFor({ state: 'attached' })
    await bars.focus()
    await page.keyboard.press('End')
    for (const amount of ['<$0.000001', '$0.0565']) {
      await until(async () => (await page.locator('.readout strong').textContent()) === amount)
      expect((await bars.getAttribute('aria-valuetext'))?.split(': ')[1]).toBe(amount)
      await page.keyboard.press('ArrowLeft')
    }
    await page.context().close()
  },
  TIMEOUT_MS,
)

test(
  'what is shown is asked for again when the reader comes back to the window',
  async () => {
    const page = await signedIn('acc_north')
    await page.goto(at('acc_north', 'spend'))
    await page.locator('canvas').waitFor()
    const asked = page.waitForRequest(/\/api\/accounts\/acc_north\/spend/)
    await page.evaluate("dispatchEvent(new Event('focus'))")
    await asked
    await page.context().close()
  },
  TIMEOUT_MS,
)

test(
  'a browser whose language is none shows the chart like any other',
  async () => {
    const page = await signedIn('acc_north')
    await page.addInitScript("Object.defineProperty(Navigator.prototype, 'language', { get: () => 'en-US@posix', configurable: true })")
    await page.goto(at('acc_north', 'spend'))
    await page.locator('canvas').waitFor()
    expect(await page.evaluate('navigator.language')).toBe('en-US')
    await page.context().close()
  },
  TIMEOUT_MS,
)

test(
  'ranges and filters are in the address, the sums of the table are those of the figures, and the way back works',
  async () => {
    const page = await signedIn('acc_north')
    await page.goto(at('acc_north', 'spend'))
    const sums = async (): Promise<void> => {
      const cells = await exactOf(page, 'table tbody td:nth-child(2) data')
      const [foot] = await exactOf(page, 'table tfoot td:nth-child(2) data')
      const [figure] = await exactOf(page, '[aria-label="Spend of a time"] .figures data')
      expect([sumText(cells), foot]).toEqual([figure ?? '', figure])
    }
    const whole = page.locator('tfoot td').nth(3)
    await whole.waitFor()
    await sums()
    const all = await whole.textContent()
    await page.getByRole('button', { name: 'By key' }).click()
    await page.getByRole('button', { name: '=cmd|1' }).waitFor()
    expect(await whole.textContent()).toBe(all)
    await sums()
    await page.getByRole('button', { name: '=cmd|1' }).click()
    await page.getByRole('button', { name: /Only key =cmd/ }).waitFor()
    expect(new URL(page.url()).search).toBe('?key=key_north')
    await page.locator('tbody button', { hasText: 'opus' }).waitFor()
    await sums()
    await page.getByRole('button', { name: 'Today' }).click()
    await page
      .getByText(/by hour \(UTC\)/)
      .or(page.getByText('Nothing was spent'))
      .first()
      .waitFor()
    expect(new URL(page.url()).search).toBe('?range=today&key=key_north')
    await page.goBack()
    await page.goBack()
    await page.getByRole('button', { name: '=cmd|1' }).waitFor()
    expect(await whole.textContent()).toBe(all)
    await page.getByRole('link', { name: /one by one/ }).click()
    await page.getByRole('heading', { name: 'Requests' }).waitFor()
    await page.locator('tbody tr').nth(49).waitFor()
    const top = () => page.locator('tbody tr').first().textContent()
    const first = await top()
    await page.getByRole('button', { name: 'Older' }).click()
    await until(async () => (await top()) !== first)
    await page.getByRole('button', { name: 'Newer' }).click()
    await until(async () => (await top()) === first)
    await page.context().close()
  },
  TIMEOUT_MS,
)

for (const { colorScheme, width } of LOOKS)
  test(
    `axe-core finds nothing serious, nothing is wider than the screen and nothing moves: ${colorScheme}, ${width} px`,
    async () => {
      const page = await signedIn('acc_north', { colorScheme, viewport: { width, height: 900 } })
      for (const path of ['spend?range=90&by=key', 'requests', 'requests?request=req_00000']) {
        let release = (): void => undefined
        const held = new Promise<void>((resolve) => {
          release = resolve
        })
        await page.route(/\/api\/accounts\/acc_north\/(spend|summary|requests)/, async (route) => {
          await held
          await route.continue().catch(() => undefined)
        })
        await page.goto(at('acc_north', path))
        const mark = page.locator('.segments button, .fold > summary:visible, .filters label:visible').first()
        await mark.waitFor()
        const before = await mark.boundingBox()
        release()
        await page.locator('.waiting').first().waitFor({ state: 'detached' })
        expect([path, await mark.boundingBox()]).toEqual([path, before])
        await page.unroute(/\/api\/accounts\/acc_north\/(spend|summary|requests)/)
        await lookAt(page, path)
        const cut = `[...document.querySelectorAll('dialog .scroll')].filter((one) => one.scrollWidth > one.clientWidth).length`
        expect([path, await page.evaluate(cut)]).toEqual([path, 0])
      }
      await page.context().close()
    },
    TIMEOUT_MS,
  )
