/** Every page of the cabinet with data in it, for pictures: a name, and the way to what is to be seen. Whoever adds a page adds it here. */

import { randomBytes } from 'node:crypto'
import type { Page } from 'playwright-core'
import { displayOf, makeSecret } from '../../src/core/key.ts'
import { DAY_MS } from '../../src/core/utc.ts'
import type { TestGateway } from '../support/gateway.ts'
import { sha256, usd } from '../support/ledger.ts'

const ACCOUNT = 'acc_north'
const PATH = `/cabinet/a/${ACCOUNT}`

/** `secret`: of a key that was used. */
export type Sample = Readonly<{ secret: string; open(page: Page): Promise<void>; inviteToken(): string }>

/** `isSignedIn`: by whoever the sample is of. `show`: what is done on the page before it is looked at. */
export type SamplePage = Readonly<{ name: string; path: string; isSignedIn: boolean; show?: (page: Page, sample: Sample) => Promise<void> }>

export const CABINET_PAGES: readonly SamplePage[] = [
  { name: 'sign-in', path: '/cabinet/sign-in', isSignedIn: false },
  { name: 'forgotten-password', path: '/cabinet/forgot', isSignedIn: false },
  { name: 'new-password', path: '/cabinet/reset/token', isSignedIn: false },
  { name: 'sign-in-link', path: '/cabinet/link/token', isSignedIn: false },
  {
    name: 'invitation',
    path: '/cabinet/invite/token',
    isSignedIn: false,
    show: async (page, sample) => {
      await page.goto(`${new URL(page.url()).origin}/cabinet/invite/${sample.inviteToken()}`)
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
  { name: 'keys-none', path: '/cabinet/a/acc_empty/keys', isSignedIn: true, show: (page) => page.getByText('No keys yet').waitFor() },
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
  const person = people.known('ann@north.example')
  for (const accountId of [ACCOUNT, 'acc_empty']) people.roster.join(person.id, { accountId, role: 'owner' })
  return {
    secret: laptop,
    inviteToken: () => people.links.invite('new@north.example', { accountId: ACCOUNT, role: 'reader' }, 'os:sample'),
    open: async (page) => {
      await page.goto(people.signInLink('cabinet', person))
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { name: 'Keys' }).waitFor()
    },
  }
}
