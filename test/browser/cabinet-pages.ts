/** Every page of the cabinet with data in it, for pictures: a name, and the way to what is to be seen. Whoever adds a page adds it here. */

import { randomBytes } from 'node:crypto'
import type { Page } from 'playwright-core'
import { AlertStore } from '../../src/alerts/alert-store.ts'
import { newWebhookSecret } from '../../src/alerts/webhook-signature.ts'
import { displayOf, makeSecret } from '../../src/core/key.ts'
import { type Picos, picos } from '../../src/core/money.ts'
import { DAY_MS } from '../../src/core/utc.ts'
import type { Per } from '../../src/core/windows.ts'
import type { CreditKind } from '../../src/ledger/operation.ts'
import type { TestGateway } from '../support/gateway.ts'
import { sha256, usd } from '../support/ledger.ts'
import { sampleSpend } from './sample-spend.ts'

const ACCOUNT = 'acc_north'
const PATH = `/cabinet/a/${ACCOUNT}`
/** Of three months that were used. */
const SPENT_ACCOUNT = 'acc_spend'
const SPENT = `/cabinet/a/${SPENT_ACCOUNT}`

/** `secret`: of a key that was used. */
export type Sample = Readonly<{ secret: string; open(page: Page): Promise<void>; inviteToken(): Promise<string> }>

/** `isSignedIn`: by whoever the sample is of. `show`: what is done on the page before it is looked at. */
export type SamplePage = Readonly<{ name: string; path: string; isSignedIn: boolean; show?: (page: Page, sample: Sample) => Promise<void> }>

const drawn = (page: Page): Promise<void> => page.locator('tfoot').waitFor()

export const CABINET_PAGES: readonly SamplePage[] = [
  { name: 'sign-in', path: '/cabinet/sign-in', isSignedIn: false },
  { name: 'forgotten-password', path: '/cabinet/forgot', isSignedIn: false },
  { name: 'mail-link', path: '/cabinet/mail-link', isSignedIn: false },
  { name: 'new-password', path: '/cabinet/reset/token', isSignedIn: false },
  { name: 'sign-in-link', path: '/cabinet/link/token', isSignedIn: false },
  {
    name: 'invitation',
    path: '/cabinet/invite/token',
    isSignedIn: false,
    show: async (page, sample) => {
      await page.goto(`${new URL(page.url()).origin}/cabinet/invite/${await sample.inviteToken()}`)
      await page.getByLabel('Choose a password').waitFor()
    },
  },
  {
    name: 'invitation-gone',
    path: '/cabinet/invite/gone',
    isSignedIn: false,
    show: (page) => page.getByText('used or has expired').waitFor(),
  },
  { name: 'key-asked', path: '/cabinet/key', isSignedIn: false },
  {
    name: 'key',
    path: '/cabinet/key',
    isSignedIn: false,
    show: async (page, { secret }) => {
      await page.getByLabel('API key').fill(secret)
      await page.keyboard.press('Enter')
      await page.getByRole('region', { name: 'Requests' }).waitFor()
    },
  },
  {
    name: 'request',
    path: '/cabinet/key',
    isSignedIn: false,
    show: async (page, { secret }) => {
      await page.getByLabel('API key').fill(secret)
      await page.keyboard.press('Enter')
      await page.getByRole('region', { name: 'Requests' }).getByRole('button').first().click()
      await page.getByText('Provider calls').waitFor()
    },
  },
  { name: 'keys', path: `${PATH}/keys`, isSignedIn: true, show: (page) => page.getByText('laptop').first().waitFor() },
  {
    name: 'key-made',
    path: `${PATH}/keys`,
    isSignedIn: true,
    show: async (page) => {
      await page.getByRole('button', { name: 'New key' }).click()
      await page.getByLabel('Name', { exact: true }).fill(`build server ${randomBytes(3).toString('hex')}`)
      await page.keyboard.press('Enter')
      await page.getByText('export KEY=').waitFor()
    },
  },
  {
    name: 'key-changed',
    path: `${PATH}/keys`,
    isSignedIn: true,
    show: async (page) => {
      await page.getByRole('button', { name: 'Change laptop' }).click()
      await page.getByRole('button', { name: 'Disable' }).scrollIntoViewIfNeeded()
    },
  },
  {
    name: 'budgets',
    path: `${PATH}/keys`,
    isSignedIn: true,
    show: async (page) => {
      await page.getByRole('button', { name: 'Budgets…' }).click()
      await page.getByText('set by the operator').waitFor()
    },
  },
  { name: 'spend', path: `${SPENT}/spend`, isSignedIn: true, show: drawn },
  { name: 'spend-by-key', path: `${SPENT}/spend?range=90&by=key`, isSignedIn: true, show: drawn },
  { name: 'explore', path: `${SPENT}/explore?by=model,key`, isSignedIn: true, show: drawn },
  {
    name: 'requests',
    path: `${SPENT}/requests`,
    isSignedIn: true,
    show: (page) => page.locator('tbody tr').nth(9).waitFor(),
  },
  {
    name: 'request-of-account',
    path: `${SPENT}/requests`,
    isSignedIn: true,
    show: async (page) => {
      await page.locator('tbody button').first().click()
      await page.getByText('Provider calls').waitFor()
    },
  },
  { name: 'keys-none', path: '/cabinet/a/acc_empty/keys', isSignedIn: true, show: (page) => page.getByText('No keys yet').waitFor() },
  { name: 'top-up', path: `${PATH}/top-up`, isSignedIn: true, show: (page) => page.getByText('invoice 2026-118').waitFor() },
  {
    name: 'alerts',
    path: `${PATH}/alerts`,
    isSignedIn: true,
    show: async (page) => {
      // The first look at the page begins the alerts; what they told is there a moment later.
      await page.getByText('active', { exact: true }).first().waitFor()
      await page.waitForTimeout(1_000)
      await page.reload()
      await page.getByText('next try').first().waitFor()
    },
  },
  {
    name: 'alert-made',
    path: `${PATH}/alerts`,
    isSignedIn: true,
    show: async (page) => {
      await page.getByRole('button', { name: 'New alert' }).click()
      await page.getByLabel('Tell when').selectOption('key_limit_used')
    },
  },
  {
    name: 'alerts-none',
    path: '/cabinet/a/acc_empty/alerts',
    isSignedIn: true,
    show: (page) => page.getByText('No alerts yet').waitFor(),
  },
  { name: 'members', path: `${PATH}/members`, isSignedIn: true, show: (page) => page.getByText('invited').first().waitFor() },
  {
    name: 'member-invited',
    path: `${PATH}/members`,
    isSignedIn: true,
    show: async (page) => {
      await page.getByRole('button', { name: 'Invite a person' }).click()
      await page.getByLabel('E-mail').fill('maria@north.example')
      await page.getByRole('button', { name: 'Invite', exact: true }).click()
      await page.getByText('Send this link').waitFor()
    },
  },
  { name: 'person', path: '/cabinet/person', isSignedIn: true, show: (page) => page.getByText('this one').waitFor() },
  { name: 'missing', path: '/cabinet/nothing-here', isSignedIn: true },
]

/** Somebody with two accounts, and keys in every state. */
export async function sampleOfCabinet(gateway: TestGateway, modelId: string): Promise<Sample> {
  const now = Date.now()
  await gateway.operate({
    kind: 'createAccount',
    accountId: ACCOUNT,
    name: 'North Star',
    topUp: { creditId: 'crd_1', amountPicos: usd('40'), ref: '' },
    now,
  })
  await gateway.operate({ kind: 'createAccount', accountId: 'acc_empty', name: 'Empty & Sons', topUp: null, now })
  const add = async (name: string, limitUsd: string | null, expiresAt: number | null): Promise<string> => {
    const secret = makeSecret(() => randomBytes(64))
    const stored = {
      secretHash: sha256(secret),
      display: displayOf(secret),
      plan: 'default',
      accountId: ACCOUNT,
      ownAccountId: '',
      topUp: null,
    }
    const limitPicos = limitUsd === null ? null : usd(limitUsd)
    await gateway.operate({ kind: 'createKey', keyId: `key_${name.replaceAll(' ', '_')}`, name, ...stored, limitPicos, expiresAt, now })
    return secret
  }
  const ask = async (secret: string, content: string): Promise<void> => {
    const body = { model: modelId, max_tokens: 400, messages: [{ role: 'user', content }] }
    await (await gateway.post('/v1/messages', secret, body)).text()
  }
  const laptop = await add('laptop', '25', now + 60 * DAY_MS)
  const spent = await add('evaluation of long documents, second half of the year', '0.0001', null)
  await add('old server', null, now + 2 * DAY_MS)
  await add('lost phone', '5', null)
  await gateway.operate({ kind: 'setKeyActive', keyId: 'key_lost_phone', isActive: false, now })
  for (let asked = 0; asked < 8; asked++) await ask(laptop, `Write a paragraph about toll gates, number ${asked}. [sim speed=0]`)
  await ask(laptop, '[sim error=500]')
  await ask(spent, 'Hello [sim speed=0]')
  await gateway.idle()
  const people = gateway.people()
  const person = await people.known('ann@north.example')
  await furnish(gateway)
  await sampleSpend(gateway, SPENT_ACCOUNT)
  for (const accountId of [ACCOUNT, 'acc_empty', SPENT_ACCOUNT]) await people.memberships.join(person.id, { accountId, role: 'owner' })
  return {
    secret: laptop,
    inviteToken: () => people.links.invite('new@north.example', { accountId: ACCOUNT, role: 'reader' }, 'os:sample'),
    open: async (page) => {
      await page.goto(await people.signInLink('cabinet', person))
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { name: 'Keys' }).waitFor()
    },
  }
}

/** Credits of every kind, budgets, a reader, an invitation, a webhook that nobody answers, and alerts that tell it. */
async function furnish(gateway: TestGateway): Promise<void> {
  const now = Date.now()
  const credit = (creditId: string, creditKind: CreditKind, amountPicos: Picos, ref: string): Promise<void> =>
    gateway.operate({ kind: 'credit', creditKind, accountId: ACCOUNT, creditId, amountPicos, ref, now })
  await credit('crd_2', 'top-up', usd('100'), 'invoice 2026-118')
  await credit('crd_3', 'refund', picos(-usd('20')), 'credit note 2026-031')
  await credit('crd_4', 'top-up', usd('25'), 'stripe:pi_3PqR5t2eZvKYlo2C1gY8xQ7d')
  await credit('crd_5', 'correction', usd('0.5'), '')
  const budget = (keyId: string | null, per: Per, cap: string): Promise<void> =>
    gateway.operate({ kind: 'setBudget', accountId: ACCOUNT, keyId, per, capPicos: usd(cap), setBy: 'operator', now })
  await budget('key_laptop', 'hour', '1')
  await budget('key_laptop', 'day', '5')
  await budget(null, 'month', '2000')
  const { db, memberships, links } = gateway.people()
  await memberships.join((await memberships.add({ email: 'rea@north.example', name: 'Rea', isProven: true })).id, {
    accountId: ACCOUNT,
    role: 'reader',
  })
  await links.invite('maria.fernandez-gutierrez@north.example', { accountId: ACCOUNT, role: 'owner' }, 'person:ann@north.example')
  const store = new AlertStore(db, () => now)
  const by = { accountId: ACCOUNT, isEnabled: true, createdBy: 'ann@north.example' }
  await store.addWebhook({ ...by, id: 'hook_1', url: 'https://hooks.north.invalid/tollgate', secret: newWebhookSecret() })
  const to = { ...by, emails: ['ann@north.example'], webhooks: ['hook_1'] }
  await store.addAlert({ ...to, id: 'alert_1', rule: { kind: 'balance_below', thresholdPicos: usd('500') } })
  await store.addAlert({ ...to, id: 'alert_2', webhooks: [], rule: { kind: 'daily_spend_above', thresholdPicos: usd('20'), keyId: null } })
  await store.addAlert({ ...to, id: 'alert_3', isEnabled: false, rule: { kind: 'key_expires', days: 7, keyId: 'key_laptop' } })
}
