/**
 * Money by the pages: codes are made in the console and redeemed in the cabinet, guessing gets slow, a page to pay on is Stripe's, and nobody tops up, or sees, an
 * account that is another's. Rules: pages.md "Codes", "Stripe".
 */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { Elysia } from 'elysia'
import type { PaymentsConfig } from '../../../src/config/config.ts'
import { type Picos, picos } from '../../../src/core/money.ts'
import { makeCode } from '../../../src/core/prepaid-code.ts'
import { newId } from '../../../src/ledger/operations/new-id.ts'
import { Payments } from '../../../src/payments/payments.ts'
import type { Listener } from '../../../src/people/origins.ts'
import { apiErrors } from '../../../src/web/api/answers.ts'
import { originGuard } from '../../../src/web/api/caller.ts'
import { codeRoutes } from '../../../src/web/api/codes.ts'
import { consoleActs } from '../../../src/web/api/console-acts.ts'
import { topUpRoutes } from '../../../src/web/api/top-up.ts'
import type { Site } from '../../../src/web/site.ts'
import { type FakeStripe, SECRETS, startFakeStripe } from '../../support/fake-stripe.ts'
import { startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { usd } from '../../support/ledger.ts'
import { Browser, PeopleWorld } from '../../support/people.ts'

const BOUNDS = { minPicos: usd('5'), maxPicos: usd('500') }

let world: PeopleWorld
let gateway: TestGateway
let stripe: FakeStripe
let ways: PaymentsConfig
let apps: Readonly<Record<Listener, { handle(request: Request): Promise<Response> }>>

beforeEach(async () => {
  world = new PeopleWorld({ publicUrl: 'https://gate.example' })
  gateway = await startTestGateway()
  stripe = startFakeStripe()
  ways = { text: 'Ask Ann', stripe: { ...SECRETS, ...BOUNDS } }
  for (const accountId of ['acc_north', 'acc_south'])
    await gateway.operate({ kind: 'createAccount', accountId, name: '', topUp: null, now: Date.now() })
  const { ledger, log, metrics } = gateway.world
  const payments = new Payments({ ledger, log, metrics, now: Date.now, secrets: SECRETS, address: stripe.address })
  const clock = { now: Date.now, monotonicMs: () => world.now }
  const people = () => world.people
  const site = { world: { ...gateway.world, clock }, people, payments, waysToPay: () => ways } as unknown as Site
  const app = (listener: Listener) => new Elysia({ strictPath: true }).use(apiErrors()).use(originGuard(people, listener))
  apps = { cabinet: app('cabinet').use(topUpRoutes(site)), console: app('console').use(codeRoutes(site, consoleActs(site))) }
})
afterEach(async () => {
  expect(gateway.verify()).toEqual([])
  await gateway.stop()
  stripe.stop()
  await world.remove()
})

/** Somebody who is signed in, at the routes of this file. */
function at(listener: Listener, signedIn: Browser, address = '192.0.2.1'): Browser {
  const browser = new Browser(apps[listener], world.people.origins(listener).base, listener, address)
  browser.cookies = signedIn.cookies
  return browser
}
const member = async (email: string, accountId = 'acc_north', role: 'owner' | 'reader' = 'owner') =>
  at('cabinet', await world.add(email, accountId, role))

async function operator(): Promise<Browser> {
  const person = await world.people.known('op@example.com')
  await world.people.memberships.makeOperator(person.id)
  const browser = world.browser('console')
  const token = (await world.people.signInLink('console', person)).split('/').at(-1)
  const { status } = await browser.post('/auth/link', { token })
  expect(status).toBe(200)
  return at('console', browser)
}

const formId = (): string => newId('crd', Date.now()).slice(4)
const makeCodes = async (count: number, more: object = {}): Promise<readonly string[]> => {
  const { status, body } = await (await operator()).post('/api/codes', { id: formId(), count, amount_usd: '12.5', ...more })
  expect([status, body]).toMatchObject([200, { amount_usd: '12.5' }])
  return body['codes'] as string[]
}
const redeem = (browser: Browser, code: string, accountId = 'acc_north') =>
  browser.post(`/api/accounts/${accountId}/codes/redeem`, { code })

test('a code is made in the console, redeemed in the cabinet by an owner, and stands among the credits', async () => {
  const [code = '', other = ''] = await makeCodes(2, { name: 'spring', expires_in_days: 30, reason: ' fair ' })
  const ann = await member('ann@example.com')
  const done = await redeem(ann, code.toLowerCase().replaceAll('-', ' '))
  expect([done.status, done.body]).toEqual([200, { credit_id: expect.stringMatching(/^crd_/), amount_usd: '12.5', already: false }])
  expect(done.headers.get('cache-control')).toBe('no-store')
  expect((await redeem(ann, code)).body).toEqual({ ...done.body, already: true })
  const south = await member('sue@example.com', 'acc_south')
  const used = await redeem(south, code, 'acc_south')
  expect([used.status, used.body]).toEqual([409, { error: { message: 'This code was used', field: 'code' } }])
  expect(await ann.get('/api/accounts/acc_north/credits?limit=1')).toMatchObject({
    status: 200,
    body: {
      balance_usd: '12.5',
      data: [{ id: done.body['credit_id'], kind: 'top-up', amount_usd: '12.5', ref: expect.stringMatching(/^code:batch_\w+-1$/) }],
      has_more: false,
      next_cursor: null,
    },
  })
  const console = await operator()
  const list = await console.get('/api/codes')
  expect(list.body['data']).toMatchObject([{ name: 'spring', count: 2, redeemed: 1, state: 'live', amount_usd: '12.5' }])
  const [batch] = list.body['data'] as { id: string }[]
  expect((await console.get(`/api/codes/${batch?.id}`)).body['data']).toMatchObject([
    { place: 1, account_id: 'acc_north', credit_id: done.body['credit_id'] },
    { place: 2, account_id: null, redeemed_at: null },
  ])
  expect(await console.post('/api/codes/spring/disable', { reason: 'over' })).toMatchObject({ status: 200, body: { state: 'disabled' } })
  expect(await redeem(ann, other)).toMatchObject({ status: 400, body: { error: { message: 'This code is not valid', field: 'code' } } })
  const audit = await gateway.world.reports.ask('test', { kind: 'audit', limit: 10 })
  if (typeof audit === 'string') throw new Error(audit)
  expect(audit.rows.slice(0, 3)).toMatchObject([
    { action: 'disableCodes', actor: 'person:op@example.com', reason: 'over' },
    { action: 'credit', actor: 'person:ann@example.com', address: '192.0.2.1', target: 'acc_north' },
    { action: 'createCodes', actor: 'person:op@example.com', reason: 'fair' },
  ])
})

test('the reason that an operator gave for a refund stands beside it among the credits', async () => {
  const ann = await member('ann@example.com')
  const credit = (creditKind: 'top-up' | 'refund', creditId: string, amountPicos: Picos) =>
    gateway.ledger.operate(
      { kind: 'credit', creditKind, accountId: 'acc_north', creditId, amountPicos, ref: '', now: Date.now() },
      { actor: 'person:op@example.com', address: '', reason: 'the outage of Monday' },
    )
  await credit('top-up', 'crd_paid', usd('5'))
  await credit('refund', 'crd_back', picos(-usd('2')))
  const { body } = await ann.get('/api/accounts/acc_north/credits')
  expect(body['data']).toMatchObject([
    { id: 'crd_back', amount_usd: '-2', reason: 'the outage of Monday' },
    { id: 'crd_paid', reason: '' },
  ])
})

test('a reader looks and does not pay; another’s account is nothing; without a person, or from elsewhere, nothing works', async () => {
  const [code = ''] = await makeCodes(1)
  const reader = await member('rea@example.com', 'acc_north', 'reader')
  const ann = await member('ann@example.com')
  const nobody = new Browser(apps.cabinet, 'https://gate.example', 'cabinet', '192.0.2.9')
  const posts = [
    ['codes/redeem', { code }],
    ['checkout', { amount_usd: '25' }],
  ] as const
  for (const [path, body] of posts) {
    expect([path, (await reader.post(`/api/accounts/acc_north/${path}`, body)).status]).toEqual([path, 403])
    expect([path, (await ann.post(`/api/accounts/acc_south/${path}`, body)).status]).toEqual([path, 404])
    expect([path, (await nobody.post(`/api/accounts/acc_north/${path}`, body)).status]).toEqual([path, 401])
  }
  for (const path of ['payments', 'credits?limit=5']) {
    expect([path, (await reader.get(`/api/accounts/acc_north/${path}`)).status]).toEqual([path, 200])
    expect([path, (await ann.get(`/api/accounts/acc_south/${path}`)).status]).toEqual([path, 404])
    expect([path, (await nobody.get(`/api/accounts/acc_north/${path}`)).status]).toEqual([path, 401])
  }
  ann.origin = 'https://evil.example'
  for (const [path, body] of posts) expect((await ann.post(`/api/accounts/acc_north/${path}`, body)).status).toBe(403)
  // A customer is no operator, whatever cookie is sent along.
  const console = at('console', ann)
  for (const path of ['/api/codes', '/api/codes/spring']) expect((await console.get(path)).status).toBe(401)
  expect((await console.post('/api/codes', { id: formId(), count: 1, amount_usd: '5' })).status).toBe(401)
  expect(stripe.orders).toEqual([])
})

test('guessing gets slow for the person and the address, whichever account is named, and a typing slip is no guess', async () => {
  const codes = await makeCodes(1)
  const eve = await member('eve@example.com')
  const wrong = (n: number) => makeCode(() => new Uint8Array(24).fill(n))
  for (let n = 0; n < 20; n++) expect((await redeem(eve, 'TG-00000-00000-00000-00000-00001')).status).toBe(400)
  const waits: number[] = []
  for (let n = 0; waits.length < 10; n++) {
    const answer = await redeem(eve, wrong(n))
    if (answer.status === 400) continue
    expect(answer.status).toBe(429)
    const waitS = Number(answer.headers.get('retry-after'))
    waits.push(waitS)
    world.now += waitS * 1_000
  }
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300])
  await redeem(eve, wrong(30))
  expect((await redeem(eve, codes[0] ?? '')).status).toBe(429)
  // Nor by the same person from elsewhere, nor by another from there; somebody else is untouched.
  expect((await redeem(at('cabinet', eve, '198.51.100.7'), codes[0] ?? '')).status).toBe(429)
  const ann = await member('ann@example.com')
  expect((await redeem(ann, codes[0] ?? '')).status).toBe(429)
  expect((await redeem(at('cabinet', ann, '203.0.113.7'), codes[0] ?? '')).status).toBe(200)
})

test('many guesses at once are counted before any is answered, and the same code at once is one credit', async () => {
  const [code = ''] = await makeCodes(1)
  const ann = await member('ann@example.com')
  const answers = await Promise.all(Array.from({ length: 50 }, () => redeem(ann, code)))
  const done = answers.filter(({ status }) => status === 200)
  expect(done.filter(({ body }) => body['already'] === false)).toHaveLength(1)
  expect(answers.filter(({ status }) => status !== 200 && status !== 429)).toEqual([])
  expect((await ann.get('/api/accounts/acc_north/credits?limit=50')).body['data']).toHaveLength(1)
})

test('which ways to pay there are, and a page of Stripe’s for a payment within the bounds', async () => {
  const ann = await member('ann@example.com')
  const payments = () => ann.get('/api/accounts/acc_north/payments')
  expect((await payments()).body).toEqual({ codes: true, stripe: { min_usd: '5', max_usd: '500' }, text: 'Ask Ann' })
  const pay = (amount_usd: unknown) => ann.post('/api/accounts/acc_north/checkout', { amount_usd })
  expect(await pay('25.5')).toMatchObject({ status: 200, body: { url: 'https://pay.example/1' } })
  expect(Object.fromEntries(stripe.orders[0] ?? [])).toMatchObject({
    client_reference_id: 'acc_north',
    customer_email: 'ann@example.com',
    'line_items[0][price_data][unit_amount]': '2550',
    success_url: expect.stringMatching(/^https:\/\/gate\.example\/cabinet\/a\/acc_north\/top-up\?since=\d{13}&paid=1$/),
    cancel_url: expect.stringMatching(/^https:\/\/gate\.example\/cabinet\/a\/acc_north\/top-up\?since=\d{13}&paid=0$/),
  })
  for (const amount of ['4.99', '500.01', '25.005', '-25', '1e3', '', 'x', 25]) {
    expect([amount, await pay(amount)]).toMatchObject([amount, { status: 400, body: { error: { field: 'amount_usd' } } }])
  }
  stripe.failWith(500)
  expect((await pay('25')).status).toBe(503)
  stripe.failWith(undefined)
  for (let n = 0; n < 8; n++) expect((await pay('25')).status).toBe(200)
  expect(await pay('25')).toMatchObject({ status: 429, body: { error: { message: 'Too many attempts. Try again in 6 s' } } })
  world.now += 6_000
  expect((await pay('25')).status).toBe(200)
  ways = { text: undefined, stripe: undefined }
  expect((await payments()).body).toEqual({ codes: true, stripe: null, text: null })
  expect((await pay('25')).status).toBe(404)
})

test('what cannot be a batch is told by its field', async () => {
  const console = await operator()
  await makeCodes(1, { name: 'spring' })
  for (const [wrong, field] of [
    [{ count: 0 }, 'count'],
    [{ count: 1_001 }, 'count'],
    [{ amount_usd: '0' }, 'amount_usd'],
    [{ amount_usd: '-5' }, 'amount_usd'],
    [{ name: 'two\nlines' }, 'name'],
    [{ expires_in_days: 0 }, 'expires_in_days'],
  ] as const) {
    const { status, body } = await console.post('/api/codes', { id: formId(), count: 1, amount_usd: '5', ...wrong })
    expect([wrong, status, body]).toMatchObject([wrong, 400, { error: { field } }])
  }
  expect(await console.post('/api/codes', { id: formId(), count: 1, amount_usd: '5', name: 'spring' })).toMatchObject({ status: 409 })
  expect((await console.get('/api/codes/none')).status).toBe(404)
  expect((await console.post('/api/codes/none/disable', {})).status).toBe(404)
})
