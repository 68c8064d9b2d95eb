/**
 * The cabinet in a real browser: what somebody does there from the first sign-in to a key that is switched off in mid-stream, by mouse and by keyboard alone;
 * axe-core finds nothing serious in either theme on a phone and a desktop, nothing breaks the policy, and no page is wider than the screen.
 * Rules: pages.md "A key without an account", "Ways through", "Keys of an account".
 */

import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { DAY_MS } from '../../src/core/utc.ts'
import type { Role } from '../../src/people/memberships.ts'
import { MODEL_ID, startTestGateway, type TestGateway } from '../support/gateway.ts'
import { createKey, sha256, usd } from '../support/ledger.ts'
import { roomIn, startWatch } from '../support/until.ts'
import { LOOKS, lookAt } from './axe.ts'
import { openBrowser } from './chromium.ts'

const TIMEOUT_MS = 180_000

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

/** In by a one-time link, on the page of keys. */
async function signedIn(email: string, accounts: Readonly<Record<string, Role>>, options: BrowserContextOptions = {}): Promise<Page> {
  const people = gateway.people()
  const person = await people.known(email)
  for (const [accountId, role] of Object.entries(accounts)) await people.memberships.join(person.id, { accountId, role })
  const page = await visitor(options)
  await page.goto(await people.signInLink('cabinet', person))
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Keys' }).waitFor()
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

test(
  'a key is changed on whichever page of the list it stands, and however many disabled ones are newer',
  async () => {
    await gateway.operate({ kind: 'createAccount', accountId: 'acc_many', name: 'many', topUp: null, now: 1 })
    const names = ['old', 'off'].flatMap((word) => Array.from({ length: 51 }, (_, index) => `${word} ${index}`))
    for (const name of names)
      await gateway.operate(
        createKey(`key_${name.replace(' ', '')}`, { accountId: 'acc_many', name, secretHash: sha256(name), display: 'sk-…many' }),
      )
    for (const name of names.slice(51))
      await gateway.operate({ kind: 'setKeyActive', keyId: `key_${name.replace(' ', '')}`, isActive: false, now: 1 })
    const page = await signedIn('max@example.com', { acc_many: 'owner' })
    const change = async (name: string): Promise<void> => {
      await page.getByRole('button', { name: `Change ${name}`, exact: true }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).waitFor()
    }
    await change('old 50')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Older' }).click()
    await page.getByText('old 50').waitFor({ state: 'detached' })
    await change('old 0')
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('button', { name: 'Disable it now' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Enable' }).waitFor()
    await page.context().close()
  },
  TIMEOUT_MS,
)

test(
  'by keyboard alone a key is made; it pays a stream, which ends within a second when the key is disabled on the page',
  async () => {
    await gateway.createKey({ id: 'key_stream', balanceUsd: '5' })
    const page = await signedIn('ann@example.com', { acc_stream: 'owner' })
    await page.getByRole('button', { name: 'New key' }).focus()
    await page.keyboard.press('Enter')
    await page.locator('dialog input:focus').waitFor()
    await page.keyboard.type('laptop <b>&amp;')
    await page.keyboard.press('Tab')
    await page.keyboard.type('2.50')
    await page.keyboard.press('Enter')
    await shown(page, 'it is shown this once')
    const secret = (await page.locator('dialog pre code').first().textContent()) ?? ''
    await page.getByLabel('Client').selectOption('Claude Code')
    await shown(page, `export ANTHROPIC_BASE_URL=${gateway.url}`)
    for (const _ of [1, 2, 3]) await page.keyboard.press('Escape')
    expect(await page.locator('dialog pre code').first().textContent()).toBe(secret)
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.waitForFunction(`document.activeElement.textContent === 'New key'`)
    expect(await page.locator('tbody tr', { hasText: 'laptop' }).locator('.name').textContent()).toBe('laptop <b>&amp;')
    expect(await page.content()).not.toContain(secret)

    const content = '[sim tokens=5000 speed=100]'
    const body = { model: MODEL_ID, max_tokens: 6_000, stream: true, messages: [{ role: 'user', content }] }
    const stream = await gateway.post('/v1/messages', secret, body)
    const row = page.locator('tbody tr', { hasText: 'laptop' })
    await row.locator('strong', { hasText: '1' }).waitFor()
    await row.getByRole('button', { name: /Change/ }).click()
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('button', { name: 'Disable it now' }).click()
    using watch = startWatch()
    const text = await stream.text()
    expect(watch.ms()).toBeLessThan(1_500)
    expect(text).toContain('event: error')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Show it' }).click()
    await row.getByText('disabled').waitFor()
    await row.locator('.quiet', { hasText: /^0$/ }).waitFor()
    await gateway.idle()
    const receipt = gateway.receipts().at(-1)
    expect([receipt?.outcome, receipt?.accountId]).toEqual(['cut', 'acc_stream'])
    expect(await row.locator('.spent data').first().getAttribute('value')).toBe(String(Number(receipt?.costPicos) / 1e12))
    expect(gateway.verify()).toEqual([])
    await page.context().close()
  },
  TIMEOUT_MS,
)

test(
  'an invited person sets a password, comes in with it, adds a passkey and comes in with that; each leads back to an own page alone',
  async () => {
    await gateway.createKey({ id: 'key_north' })
    const page = await visitor()
    const people = gateway.people()
    const invite = async (by: string): Promise<void> => {
      const token = await people.links.invite('bob@example.com', { accountId: 'acc_north', role: 'owner' }, by)
      await page.goto(`${origin}/cabinet/invite/${token}`)
    }
    await invite('os:test')
    await shown(page, 'bob@example.com is invited as an owner of an account.')
    await gateway.operate({ kind: 'renameAccount', accountId: 'acc_north', name: 'Northwind', now: Date.now() })
    await invite('person:ann@example.com')
    await shown(page, 'bob@example.com is invited as an owner of the account Northwind by ann@example.com.')
    await page.getByLabel('Choose a password').fill('correct horse battery')
    await page.getByRole('button', { name: 'Accept' }).click()
    await page.getByRole('heading', { name: 'Keys' }).waitFor()

    const authenticator = await page.context().newCDPSession(page)
    await authenticator.send('WebAuthn.enable')
    const options = {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
    } as const
    await authenticator.send('WebAuthn.addVirtualAuthenticator', { options: { ...options, automaticPresenceSimulation: true } })
    await page.goto(`${origin}/cabinet/person`)
    await page.getByLabel('Name of the device').fill('Laptop')
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByRole('cell', { name: 'Laptop', exact: true }).waitFor()

    const signOut = async () => {
      await page.locator('.aside summary').click()
      await page.getByRole('button', { name: 'Sign out' }).first().click()
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    }
    await signOut()
    expect(new URL(page.url()).searchParams.get('to')).toBe('/cabinet/person')
    await page.getByLabel('E-mail').fill('bob@example.com')
    await page.getByLabel('Password').fill('wrong horse battery')
    await page.keyboard.press('Enter')
    await shown(page, 'Invalid email or password')
    await page.getByLabel('Password').fill('correct horse battery')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'You and your sign-in' }).waitFor()
    await signOut()
    await page.goto(`${origin}/cabinet/sign-in?to=https://evil.example/cabinet`)
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.getByRole('heading', { name: 'Keys' }).waitFor()
    expect(page.url()).toBe(`${origin}/cabinet/a/acc_north/keys`)

    await people.sessions.endOthers('cabinet', { person: await people.known('bob@example.com'), sessionId: '' })
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.context().close()
  },
  TIMEOUT_MS,
)

test(
  'a reader sees keys and budgets and no way to change them; an account of others is not there; who is in two accounts changes between them',
  async () => {
    for (const id of ['key_one', 'key_two', 'key_other']) await gateway.createKey({ id })
    const page = await signedIn('rea@example.com', { acc_one: 'reader', acc_two: 'owner' })
    await page.goto(`${origin}/cabinet/a/acc_one/keys`)
    await page.getByRole('cell', { name: /sk-…/ }).first().waitFor()
    expect(await page.getByRole('main').locator('button:not(.as-head)').allTextContents()).toEqual(['Budgets…'])
    await page.getByRole('button', { name: 'Budgets…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('No budget').waitFor()
    expect(await dialog.locator('input, select').count()).toBe(0)
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden' })
    await page.getByLabel('Account').selectOption('acc_two')
    await page.getByRole('button', { name: 'New key' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/cabinet/a/acc_two/keys')
    await page.goto(`${origin}/cabinet/a/acc_other/keys`)
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    await page.context().close()
  },
  TIMEOUT_MS,
)

test(
  'an owner sets a budget of all keys together by keyboard, beside the operator’s and not above it; one of 0 is shown as used up',
  async () => {
    await roomIn(DAY_MS, 60_000)
    const body = { model: MODEL_ID, max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] }
    await (await gateway.post('/v1/messages', await gateway.createKey({ id: 'key_capped' }), body)).text()
    await gateway.idle()
    const budget = { kind: 'setBudget', accountId: 'acc_capped', keyId: null, per: 'month', setBy: 'operator' } as const
    await gateway.operate({ ...budget, capPicos: usd('3'), now: Date.now() })
    const page = await signedIn('cap@example.com', { acc_capped: 'owner' })
    await page.getByRole('button', { name: 'Budgets…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Budgets of all keys together' })
    const set = async (limit: string): Promise<void> => {
      await dialog.getByLabel('Budget', { exact: true }).fill(limit)
      await page.keyboard.press('Enter')
    }
    const listed = dialog.getByRole('listitem')
    await dialog.getByLabel('Window, by UTC').selectOption('month')
    await set('3.5')
    await dialog.getByText("The operator's budget is 3 USD per month, and yours may be less, not more").waitFor()
    expect([await listed.count(), await dialog.locator('.meter.full').count()]).toEqual([1, 0])
    await set('0')
    const own = listed.filter({ hasText: 'set by an owner of the account' })
    await own.locator('.meter.full').waitFor()
    expect(await listed.count()).toBe(2)
    expect(await own.textContent()).toMatch(/^\$[\d.]+ over \$0\.00 a month; nothing left until/)
    expect(await dialog.getByRole('heading').allTextContents()).toEqual(['Budgets of all keys together'])
    await set('')
    await own.waitFor({ state: 'detached' })
    expect(await listed.count()).toBe(1)
    await page.context().close()
  },
  TIMEOUT_MS,
)

test(
  'of two tabs on the same page, what one does is not undone by the other’s next act, which tells the truth: a limit, a key that is off, a sign-out',
  async () => {
    await gateway.createKey({ id: 'key_tabs', limitUsd: '2' })
    const one = await signedIn('tab@example.com', { acc_tabs: 'owner' })
    const other = await one.context().newPage()
    await other.goto(one.url())
    for (const page of [one, other]) {
      await page.getByRole('button', { name: /^Change/ }).click()
      await page.getByRole('dialog').getByLabel('Name', { exact: true }).waitFor()
    }
    /** The limit of the key as it is then. */
    const save = async (page: Page, field: 'Name' | 'Spend limit', text: string): Promise<unknown> => {
      const answered = page.waitForResponse((response) => response.request().method() === 'PATCH')
      await page.getByRole('dialog').getByLabel(field, { exact: true }).fill(text)
      await page.keyboard.press('Enter')
      const answer = await answered
      expect(answer.status()).toBe(200)
      return ((await answer.json()) as { limit_usd: unknown }).limit_usd
    }
    await save(one, 'Spend limit', '5')
    await save(other, 'Name', 'renamed')
    const row = other.locator('tbody tr', { hasText: 'renamed' })
    await row.getByText('of $5.00').waitFor()
    expect(await save(one, 'Spend limit', '2'), 'the way back to what the form was opened with is a change').toBe('2')
    expect(await save(other, 'Spend limit', '7')).toBe('7')
    expect(await save(one, 'Name', 'named by one'), 'what was sent once is not sent again with the next change').toBe('7')
    expect(await save(other, 'Name', 'renamed')).toBe('7')
    await one.getByRole('button', { name: 'Disable' }).click()
    await one.getByRole('button', { name: 'Disable it now' }).click()
    await one.getByRole('dialog').getByRole('button', { name: 'Enable' }).waitFor()
    await save(other, 'Name', 'renamed again')
    await other.getByRole('dialog').getByRole('button', { name: 'Enable' }).waitFor()
    await one.keyboard.press('Escape')
    await one.locator('.aside summary').click()
    await one.getByRole('button', { name: 'Sign out' }).first().click()
    await one.getByRole('heading', { name: 'Sign in' }).waitFor()
    // By its next question, which the page of keys asks by itself.
    await other.getByRole('heading', { name: 'Sign in' }).waitFor()
    await one.context().close()
  },
  TIMEOUT_MS,
)

for (const { colorScheme, width } of LOOKS)
  test(
    `axe-core finds nothing serious, and nothing is wider than the screen: ${colorScheme}, ${width} px`,
    async () => {
      const options = { colorScheme, viewport: { width, height: 800 } }
      await gateway.createKey({ id: `key_${colorScheme}${width}`, limitUsd: '1' })
      await gateway.operate({ kind: 'createAccount', accountId: 'acc_empty', name: 'empty', topUp: null, now: 1 })
      const page = await signedIn('eve@example.com', { [`acc_${colorScheme}${width}`]: 'owner', acc_empty: 'owner' }, options)
      await page.goto(`${origin}/cabinet/a/acc_${colorScheme}${width}/keys`)
      await page
        .getByRole('button', { name: /Change/ })
        .first()
        .waitFor()
      await lookAt(page, 'keys')
      await page.getByRole('button', { name: 'Budgets…' }).click()
      await page.getByLabel('Budget', { exact: true }).waitFor()
      await lookAt(page, 'budgets')
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'hidden' })
      await page
        .getByRole('button', { name: /Change/ })
        .first()
        .click()
      await lookAt(page, 'a key')
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: 'New key' }).click()
      await page.getByLabel('Name', { exact: true }).fill(`long ${'name'.repeat(20)} ${width} ${colorScheme}`)
      await page.keyboard.press('Enter')
      await shown(page, 'export KEY=')
      await lookAt(page, 'a secret')
      await page.getByRole('button', { name: 'Done' }).click()
      await page.locator('.aside summary').click()
      await lookAt(page, 'keys with a menu')
      await page.goto(`${origin}/cabinet/person`)
      await page.getByRole('cell', { name: /this one/ }).waitFor()
      await lookAt(page, 'person')
      await page.goto(`${origin}/cabinet/a/acc_empty/keys`)
      await shown(page, 'No keys yet')
      expect(await page.getByRole('button', { name: 'New key' }).count()).toBe(2)
      await lookAt(page, 'no keys')
      for (const path of [
        '/cabinet/sign-in',
        '/cabinet/forgot',
        '/cabinet/mail-link',
        '/cabinet/link/x',
        '/cabinet/invite/x',
        '/cabinet/reset/x',
        '/cabinet/key',
        '/cabinet/no',
      ]) {
        await page.goto(`${origin}${path}`)
        await page.getByRole('heading').first().waitFor()
        await lookAt(page, path)
      }
      await page.context().close()
    },
    TIMEOUT_MS,
  )
