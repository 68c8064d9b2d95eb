/**
 * By mail alone, in a real browser and through a real gateway: an account is made by the link in a mail, and its owner comes in again by another.
 * Rules: pages.md "Sign-in routes", "Signing up", "Links".
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { type SmtpServer, startSmtp } from '../people/smtp-server.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { openBrowser } from './chromium.ts'

const TIMEOUT_MS = 180_000
const EMAIL = 'ann@north.example'

let smtp: SmtpServer
let gateway: TestGateway
let browser: Browser
beforeAll(async () => {
  smtp = startSmtp()
  gateway = await startTestGateway({ mail: { url: smtp.url, from: 'gate@llm.example' }, signUp: 'open' })
  browser = await openBrowser()
}, TIMEOUT_MS)
afterAll(async () => {
  await browser.close()
  await gateway.stop()
  smtp.stop()
})

const cabinet = (path: string): string => `http://localhost:${new URL(gateway.url).port}/cabinet${path}`

/** The link in the mail that comes after `before` others. */
async function linkAfter(before: number): Promise<string> {
  const untilMs = performance.now() + 10_000
  while (smtp.letters.length <= before) {
    if (performance.now() > untilMs) throw new Error('no mail came')
    await Bun.sleep(20)
  }
  const letter = smtp.letters[before]
  expect(letter?.to).toEqual([EMAIL])
  const [link = ''] = /http:\S+/.exec(letter?.text.replaceAll('=\n', '').replaceAll('=3D', '=') ?? '') ?? []
  expect(new URL(link).origin).toBe(new URL(cabinet('')).origin)
  return link
}

async function ask(page: Page, path: string, told: RegExp): Promise<string> {
  const before = smtp.letters.length
  await page.goto(cabinet(path))
  await page.getByLabel('E-mail').fill(EMAIL)
  await page.getByRole('button', { name: 'Send the link' }).click()
  await page.getByText(told).waitFor()
  return linkAfter(before)
}

test(
  'a mail makes an account, and another signs its owner in',
  async () => {
    const page = await (await browser.newContext()).newPage()
    await page.goto(await ask(page, '/sign-up', /A mail is on its way/))
    await page.getByLabel('Password').fill('a long password')
    await page.getByRole('button').last().click()
    await page.getByRole('heading', { name: 'Keys' }).waitFor()
    const other = await (await browser.newContext()).newPage()
    await other.goto(cabinet('/sign-in'))
    await other.getByRole('link', { name: /Sign in by a link/ }).click()
    await other.waitForURL('**/mail-link')
    await other.goto(await ask(other, '/mail-link', /has an account here/))
    await other.getByRole('button', { name: 'Sign in' }).click()
    await other.getByRole('heading', { name: 'Keys' }).waitFor()
    expect(gateway.verify()).toEqual([])
  },
  TIMEOUT_MS,
)
