/**
 * Figures of the overview and rows of the margin lead to what they are of: each link is pressed, and the page behind it has the filters, and as many requests as were
 * counted. Rules: pages.md "Now", "Tables".
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { openBrowser } from './chromium.ts'
import { type SampleConsole, sampleConsole } from './sample-console.ts'
import { enterConsole } from './sign-in.ts'

setDefaultTimeout(60_000)

let sample: SampleConsole
let browser: Browser
let page: Page
beforeAll(async () => {
  sample = await sampleConsole()
  await sample.pay()
  await sample.pay()
  await sample.gateway.idle()
  browser = await openBrowser()
  page = await browser.newPage({ viewport: { width: 1280, height: 900 }, timezoneId: 'UTC' })
  await enterConsole(page, sample.gateway)
})
afterAll(async () => {
  await browser.close()
  await sample.stop()
})

/** Where a link leads when it is pressed, with the filters of the address but for its span, which is of whole days: how many. */
async function pressed(link: Locator, title: string | RegExp) {
  await link.click()
  await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
  const { pathname, searchParams } = new URL(page.url())
  const { from, to, ...filters } = Object.fromEntries(searchParams)
  const isOfDays = (from ?? '').length === '2026-11-26'.length
  const days = from === undefined || to === undefined ? 0 : (Date.parse(to) - Date.parse(from)) / 86_400_000 + (isOfDays ? 1 : 0)
  return { path: pathname, filters, days }
}

const figure = (name: string): Locator => page.locator('.figures > div', { has: page.locator('dt', { hasText: name }) }).getByRole('link')
const ofUpstream = (name: string) => (): Locator =>
  page
    .getByRole('region', { name: 'Upstreams', exact: true })
    .getByRole('article')
    .filter({ hasText: 'upstream-0' })
    .locator('dt', { hasText: name })
    .locator('+ dd')
    .getByRole('link')
const MARGIN = { path: '/console/margin', filters: { by: 'upstream' }, days: 1 }
const FIRST_BYTE = { measure: 'first_byte_p50', by: 'model', step: 'hour', upstream: 'upstream-0' }
const UPSTREAMS = { path: '/console/upstreams', filters: {}, days: 0 }

for (const [name, link, title, expected] of [
  ['In flight', () => figure('In flight'), 'Upstreams', UPSTREAMS],
  ['Held now', () => figure('Held now'), 'Accounts', { path: '/console/accounts', filters: {}, days: 0 }],
  ['Lost to cache misses', () => figure('Lost to cache misses'), 'Margin', MARGIN],
  ['an upstream’s requests in flight', ofUpstream('In flight'), 'Upstreams', UPSTREAMS],
  ['those that wait for it', ofUpstream('Waiting'), 'Upstreams', UPSTREAMS],
  ['its first event', ofUpstream('First event'), 'Explore', { path: '/console/explore', filters: FIRST_BYTE, days: 1 }],
] as const)
  test(`on the overview a press leads on: ${name}`, async () => {
    await page.goto(`${new URL(page.url()).origin}/console`)
    await page.getByText('Live', { exact: true }).waitFor()
    expect(await pressed(link(), title)).toEqual({ ...expected, filters: { ...expected.filters } })
  })

const row = (): Locator => page.locator('.rows tbody tr').first().getByRole('link')

/** The page of the margin, its first row's id and how many requests it counts. */
async function margin(by: string) {
  await page.goto(`${new URL(page.url()).origin}/console/margin?by=${by}`)
  await row().first().waitFor()
  return { id: (await row().first().getAttribute('title')) ?? '', count: Number(await row().nth(1).textContent()) }
}

for (const [by, filter, title, pathOf] of [
  ['day', undefined, 'Requests', () => '/console/requests'],
  ['account', 'account_id', /^(?!Margin$)/, (id: string) => `/console/accounts/${id}`],
  ['model', 'model', 'Requests', () => '/console/requests'],
  ['upstream', 'upstream', 'Upstreams', () => '/console/upstreams'],
] as const)
  test(`the margin by ${by}: its names lead to what they name, its counts to so many requests`, async () => {
    const { id, count } = await margin(by)
    expect(count).toBeGreaterThan(0)
    expect((await pressed(row().first(), title)).path).toBe(pathOf(id))
    await margin(by)
    const filters = filter === undefined ? {} : { [filter]: id }
    expect(await pressed(row().nth(1), 'Requests')).toEqual({ path: '/console/requests', filters, days: by === 'day' ? 1 : 30 })
    await page.locator('.rows tbody tr').first().waitFor()
    expect(await page.locator('.rows tbody tr').count()).toBe(count)
  })
