/**
 * Money, alerts and members in a real browser: a code is typed and the balance seen, wrong ones slow down, a payment is waited for; an alert is set by keyboard and tried
 * against a real receiver; somebody is invited and comes in. A reader has no button, what people typed stays text, axe-core finds nothing serious in either theme on a
 * phone and a desktop, and no page is wider than the screen. Rules: pages.md "Top up", "Codes", "Alerts on the page", "Webhooks", "Members".
 */

import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { makeCode } from '../../src/core/prepaid-code.ts'
import { isSigned } from '../alerts/receiver.ts'
import { until } from '../support/until.ts'
import { LOOKS, lookAt } from './axe.ts'
import { openBrowser } from './chromium.ts'
import { ACCOUNT, type SampleAccount, sampleAccount } from './sample-account.ts'

setDefaultTimeout(60_000)

let sample: SampleAccount
let browser: Browser
const complaints: string[] = []
beforeAll(async () => {
  sample = await sampleAccount()
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  await sample.stop()
})
afterEach(() => expect(complaints.splice(0)).toEqual([]))

const shown = (page: Page, text: string | RegExp): Promise<void> => page.getByText(text).first().waitFor()
const balanceOf = (page: Page): Promise<string | null> => page.locator('.figures dd data').getAttribute('value')
const hookUrl = (): string => `http://127.0.0.1:${sample.receiver.port}/hook`

test('a code is typed, in groups; the balance before and after is told; a wrong one is refused in words, and many are slowed down', async () => {
  const { codes } = sample
  const page = await sample.visit(browser, 'top-up', { complaints })
  await shown(page, '$80.50')
  const field = page.getByLabel('Code')
  await field.focus()
  await page.keyboard.type((codes[0] ?? '').toLowerCase().replaceAll('-', ''))
  expect(await field.inputValue()).toBe(codes[0] ?? '')
  await page.keyboard.press('Enter')
  await shown(page, '$12.50 credited. The balance was $80.50 and is $93.00.')
  expect(await balanceOf(page)).toBe('93')
  expect(await field.inputValue()).toBe('')
  await page.getByRole('cell', { name: 'Top-up by prepaid code' }).waitFor()
  await page.getByRole('cell', { name: '<img src=x onerror=alert(1)>' }).waitFor()
  await page.getByRole('cell', { name: 'Refund: the outage of Monday' }).waitFor()
  const redeem = async (text: string): Promise<void> => {
    await field.fill(text)
    await page.keyboard.press('Enter')
  }
  await redeem(codes[0] ?? '')
  await shown(page, 'nothing was credited now')
  await redeem('TG-00000')
  await shown(page, 'This is no code: compare each character')
  expect(await balanceOf(page)).toBe('93')
  const wait = page.getByText(/Too many attempts. Try again in \d+ s/)
  for (let tried = 0; (await wait.count()) === 0; tried++) {
    expect(tried).toBeLessThan(10)
    await redeem(makeCode(() => crypto.getRandomValues(new Uint8Array(24))))
    await shown(page, /This code is not valid|Too many attempts/)
    await page.waitForLoadState('networkidle')
  }
  await page.context().close()
})

test('a payment is made at Stripe; back on the page it is waited for until its credit stands in the ledger, and no earlier one is taken for it', async () => {
  await sample.credit('top-up', '10', 'stripe:pi_earlier')
  await Bun.sleep(2)
  const page = await sample.visit(browser, 'top-up', { complaints })
  await page.route('https://pay.example/**', (route) => route.fulfill({ contentType: 'text/html', body: '<h1>Stripe</h1>' }))
  await page.getByLabel('Amount in USD').fill('2')
  await page.getByRole('button', { name: 'Go to Stripe' }).click()
  await shown(page, 'From $5 to $500, in whole cents')
  await page.getByRole('button', { name: '$25', exact: true }).click()
  await page.getByRole('button', { name: 'Go to Stripe' }).click()
  await page.getByRole('heading', { name: 'Stripe', exact: true }).waitFor()
  const back = `${sample.origin}/cabinet/a/${ACCOUNT}/top-up?since=${Date.now()}`
  await page.goto(`${back}&paid=0`)
  await shown(page, 'Nothing was paid.')
  let lists = 0
  page.on('response', (response) => {
    if (response.url().includes('/credits?')) lists++
  })
  await page.goto(`${back}&paid=1`)
  // The page's own, and two of what waits.
  await until(() => lists >= 3)
  expect(await page.locator('.note').allTextContents()).toEqual([expect.stringContaining('Waiting for your payment')])
  await sample.credit('top-up', '25', 'stripe:pi_1')
  await shown(page, 'Your payment has arrived: $25.00 credited.')
  await page.getByRole('row', { name: /Top-up by Stripe stripe:pi_1/ }).waitFor()
  await page.context().close()
})

test('by keyboard alone a webhook and an alert are made; the alert’s test reaches the receiver, signed, and stands as delivered within two seconds', async () => {
  const { receiver } = sample
  const page = await sample.visit(browser, 'alerts', { complaints })
  await shown(page, 'add a webhook first')
  await page.getByRole('button', { name: 'New webhook' }).focus()
  await page.keyboard.press('Enter')
  await page.locator('dialog input:focus').waitFor()
  await page.keyboard.type(`${hookUrl()}?<script>alert(1)</script>`)
  await page.keyboard.press('Enter')
  await shown(page, 'it is shown this once')
  const secret = (await page.locator('dialog pre code').textContent()) ?? ''
  expect(secret).toMatch(/^whsec_/)
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Done' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.waitForFunction(`document.activeElement.textContent === 'New webhook'`)
  await shown(page, '?<script>alert(1)</script>')
  expect(await page.content()).not.toContain(secret)

  await page.getByRole('button', { name: 'Tell me when the balance is below $5' }).focus()
  await page.keyboard.press('Enter')
  await page.getByLabel('Amount in USD').waitFor()
  expect(await page.getByLabel('Amount in USD').inputValue()).toBe('5')
  await page.locator('dialog select:focus').waitFor()
  await page.getByRole('button', { name: 'Set the alert' }).focus()
  await page.keyboard.press('Enter')
  await shown(page, 'Choose whom to tell')
  await page.getByRole('checkbox').first().focus()
  await page.keyboard.press('Space')
  await page.getByRole('button', { name: 'Set the alert' }).focus()
  await page.keyboard.press('Enter')
  await shown(page, /^Tell 127\.0\.0\.1.* when the balance is below \$5/)
  expect(await page.getByRole('dialog').count()).toBe(0)

  await page.getByRole('button', { name: /^Test: Tell/ }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('row', { name: /Test/ }).getByText('delivered').waitFor()
  const [told] = receiver.received
  expect(told !== undefined && isSigned(told, secret)).toBe(true)
  expect(JSON.parse(told?.body ?? '')).toMatchObject({ type: 'alert.test' })

  await page.getByRole('button', { name: /^Change: Tell/ }).click()
  await page.getByLabel('Tell when').selectOption('key_limit_used')
  await page.getByLabel('Percent of the limit or budget').fill('90')
  await page.getByLabel('Watch and tell').uncheck()
  await page.getByRole('button', { name: 'Save' }).click()
  await shown(page, /a key or the account has used 90% of its limit or of a budget/)
  await page.locator('.entry', { hasText: '90%' }).getByText('disabled').waitFor()
  await page.getByRole('button', { name: /^Change: Tell/ }).click()
  await page.getByRole('button', { name: 'Remove this alert' }).click()
  await page.getByRole('button', { name: 'Remove it now' }).click()
  await shown(page, 'No alerts yet.')
  await page.context().close()
})

test('an owner invites, the link brings somebody in, who is made an owner, and withdrawn', async () => {
  const page = await sample.visit(browser, 'members', { complaints })
  await page.getByRole('button', { name: 'Invite a person' }).click()
  await page.locator('dialog input:focus').waitFor()
  await page.keyboard.type('new@example.com')
  await page.keyboard.press('Enter')
  await shown(page, 'Send this link to new@example.com')
  const link = (await page.locator('dialog pre code').textContent()) ?? ''
  await page.getByRole('button', { name: 'Done' }).click()
  await page
    .getByRole('row', { name: /new@example.com/ })
    .getByText('invited')
    .waitFor()
  const other = await (await browser.newContext()).newPage()
  await other.goto(link)
  await other.getByLabel('Choose a password').fill('correct horse battery')
  await other.getByRole('button', { name: 'Accept' }).click()
  await other.getByRole('heading', { name: 'Keys' }).waitFor()
  await other.context().close()
  await page.reload()
  const row = page.getByRole('row', { name: /new@example.com/ })
  await row.getByText('reader').waitFor()
  await row.getByRole('button').click()
  await page.getByLabel('Role').selectOption('owner')
  await page.getByRole('button', { name: 'Save' }).click()
  await row.getByText('owner').waitFor()
  await row.getByRole('button').click()
  await page.getByRole('button', { name: 'Remove this member' }).click()
  await page.getByRole('button', { name: 'Remove it now' }).click()
  await row.waitFor({ state: 'detached' })
  await page
    .getByRole('row', { name: /ann@example.com/ })
    .getByRole('button')
    .click()
  await page.getByRole('button', { name: 'Remove yourself' }).click()
  await page.getByRole('button', { name: 'Remove it now' }).click()
  await shown(page, 'An account keeps one owner')
  await page.context().close()
})

test('a reader sees balance, credits, alerts and members, and no button', async () => {
  await (await sample.visit(browser, 'keys')).context().close()
  const page = await sample.visit(browser, 'top-up', { complaints, email: 'rea@example.com', role: 'reader' })
  for (const [slug, text] of [
    ['top-up', 'invoice 2026-118'],
    ['alerts', 'Nobody'],
    ['members', 'ann@example.com'],
  ] as const) {
    await page.goto(`${sample.origin}/cabinet/a/${ACCOUNT}/${slug}`)
    await shown(page, slug === 'alerts' ? 'No alerts yet.' : text)
    expect([slug, await page.getByRole('main').getByRole('button').count()]).toEqual([slug, 0])
    expect([slug, await page.getByRole('main').locator('form').count()]).toEqual([slug, 0])
  }
  await page.context().close()
})

for (const { colorScheme, width } of LOOKS)
  test(`axe-core finds nothing serious, and nothing is wider than the screen: ${colorScheme}, ${width} px`, async () => {
    const page = await sample.visit(browser, 'top-up', { complaints, colorScheme, viewport: { width, height: 800 } })
    await page.getByLabel('Code').waitFor()
    await page.getByRole('cell').first().waitFor()
    await lookAt(page, 'top up')
    await page.getByRole('link', { name: 'Alerts' }).click()
    await page.getByRole('button', { name: 'New alert' }).click()
    await lookAt(page, 'a new alert')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: /^Change: http/ }).click()
    await lookAt(page, 'a webhook')
    await page.keyboard.press('Escape')
    await lookAt(page, 'alerts')
    await page.getByRole('link', { name: 'Members' }).click()
    await page.getByRole('button', { name: 'Invite a person' }).click()
    await lookAt(page, 'an invitation')
    await page.keyboard.press('Escape')
    await page
      .getByRole('button', { name: /^Change/ })
      .first()
      .click()
    await lookAt(page, 'a member')
    await page.context().close()
  })
