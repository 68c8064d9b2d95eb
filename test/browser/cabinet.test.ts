/**
 * The cabinet in a real browser: what somebody does there from the first sign-in to a key that is switched off in mid-stream, by mouse and by keyboard alone;
 * axe-core finds nothing serious in either theme on a phone and a desktop, nothing breaks the policy, and no page is wider than the screen.
 * Rules: pages.md "A key without an account".
 */

import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { MODEL_ID, startTestGateway, type TestGateway } from '../support/gateway.ts'
import { openBrowser } from './chromium.ts'

const TIMEOUT_MS = 60_000

let gateway: TestGateway
let browser: Browser
/** As passkeys need it: a host name. */
let origin: string
const complaints: string[] = []
beforeAll(async () => {
  gateway = await startTestGateway()
  origin = `http://localhost:${new URL(gateway.url).port}`
  browser = await openBrowser()
}, TIMEOUT_MS)
afterAll(async () => {
  await browser.close()
  await gateway.stop()
})
afterEach(() => expect(complaints.splice(0)).toEqual([]))

/** Somebody with a browser of their own. */
async function visitor(options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  page.on('console', (message) => {
    if (message.type() !== 'log' && !/status of 4\d\d/.test(message.text())) complaints.push(message.text())
  })
  page.on('pageerror', ({ message }) => complaints.push(message))
  page.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`)) complaints.push(request.url())
  })
  return page
}

const shown = (page: Page, text: string | RegExp): Promise<void> => page.getByText(text).first().waitFor()

test(
  'a key shows what it may spend and what it was used for; nothing keeps it but the tab that was told to',
  async () => {
    const secret = await gateway.createKey({ balanceUsd: '3', limitUsd: '2' })
    const body = { model: MODEL_ID, max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] }
    const requestId = (await gateway.post('/v1/messages', secret, body)).headers.get('x-request-id') ?? ''
    await gateway.idle()
    const page = await visitor()
    await page.goto(`${origin}/cabinet/key`)
    const field = page.getByLabel('API key')
    await field.fill('sk-nonsense')
    await page.keyboard.press('Enter')
    await shown(page, /does not know this key/)
    await field.fill(` ${secret} `)
    await page.keyboard.press('Enter')
    await shown(page, 'May still spend')
    await shown(page, 'A request would be let in now.')
    const storage = () => page.evaluate(`JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie, location.href])`)
    expect(await storage()).not.toContain(secret)
    await page.getByRole('region', { name: 'Requests' }).getByRole('button').first().click()
    await shown(page, requestId)
    await page.keyboard.press('Escape')
    await page.reload()
    await field.fill(secret)
    await page.getByLabel(/Remember it/).check()
    await page.getByRole('button', { name: 'Look up' }).click()
    await shown(page, 'May still spend')
    await page.reload()
    await shown(page, 'May still spend')
    await page.getByRole('button', { name: 'Forget this key' }).click()
    await field.waitFor()
    expect(await storage()).not.toContain(secret)
    await page.context().close()
  },
  TIMEOUT_MS,
)
