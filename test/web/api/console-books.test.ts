/**
 * The books on the console: nobody but an operator reaches any route of it; each act is the command line's operation with its line in the audit log; what is
 * sent twice is done once; what is typed wrong is told with its field.
 * Rules: pages.md "Acts of operators"; operator.md "Keys and accounts", "Credits", "Audit".
 */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { newId } from '../../../src/ledger/operations/new-id.ts'
import { consoleApp } from '../../../src/web/console-app.ts'
import type { Site } from '../../../src/web/site.ts'
import { MODEL_ID, startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { holdRequest, settlement, usd } from '../../support/ledger.ts'
import { Browser, PeopleWorld } from '../../support/people.ts'

type Facts = Record<string, unknown>
type Rows = { data: Facts[]; next_cursor: string | null }

let world: PeopleWorld
let gateway: TestGateway
let app: ReturnType<typeof consoleApp>
let console: Browser

beforeEach(async () => {
  world = new PeopleWorld({ sendsMail: true })
  gateway = await startTestGateway()
  const site = {
    world: gateway.world,
    people: () => world.people,
    moment: () => ({ held: [] }),
    upstreams: { reports: () => [] },
  } as unknown as Site
  app = consoleApp(site)
  console = await operator('op@example.com')
})
afterEach(async () => {
  expect(gateway.verify()).toEqual([])
  await gateway.stop()
  await world.remove()
})

function at(signedIn: Browser): Browser {
  const browser = new Browser(app, world.people.origins('console').base, 'console', '192.0.2.1')
  browser.cookies = signedIn.cookies
  return browser
}

async function operator(email: string): Promise<Browser> {
  const person = await world.people.known(email)
  await world.people.memberships.makeOperator(person.id)
  const browser = world.browser('console')
  const token = (await world.people.signInLink('console', person)).split('/').at(-1)
  expect((await browser.post('/auth/link', { token })).status).toBe(200)
  return at(browser)
}

const formId = (now = Date.now()): string => newId('crd', now).slice(4)
const made = async (answer: Promise<{ status: number; body: Facts }>): Promise<Facts> => {
  const { status, body } = await answer
  expect([status, body]).toEqual([200, body])
  return body
}
const account = async (name: string, balance_usd = '10'): Promise<string> =>
  String((await made(console.post('/api/accounts', { id: formId(), name, balance_usd })))['id'])
const audit = async (query = ''): Promise<Facts[]> => ((await console.get(`/api/audit${query}`)).body as Rows).data

const ID = '0190f0000000700080000000000000aa'
/** What each route takes; an id that is not there is as good as any. */
const ROUTES: Readonly<Record<string, unknown>> = {
  'GET /sessions': undefined,
  'DELETE /sessions': undefined,
  'DELETE /sessions/:id': undefined,
  'GET /codes': undefined,
  'POST /codes': { id: ID, count: 1, amount_usd: '5' },
  'GET /codes/:batch': undefined,
  'POST /codes/:batch/disable': {},
  'GET /now': undefined,
  'GET /upstreams': undefined,
  'POST /upstreams/:name/state': { is_out: true },
  'GET /catalog': undefined,
  'GET /catalog/reload': undefined,
  'POST /catalog/reload': { digest: 'x' },
  'GET /catalog/repriced': undefined,
  'GET /accounts': undefined,
  'POST /accounts': { id: ID, name: 'x' },
  'GET /accounts/:accountId': undefined,
  'PATCH /accounts/:accountId': { name: 'x' },
  'POST /accounts/:accountId/disable': {},
  'POST /accounts/:accountId/enable': {},
  'POST /accounts/:accountId/credits': { id: ID, kind: 'top-up', amount_usd: '1' },
  'GET /accounts/:accountId/credits': undefined,
  'GET /accounts/:accountId/keys': undefined,
  'GET /accounts/:accountId/budgets': undefined,
  'POST /accounts/:accountId/budgets': { id: ID, per: 'day', limit_usd: '1' },
  'POST /accounts/:accountId/plan': { id: ID, plan: null },
  'GET /keys/:keyId/budgets': undefined,
  'POST /keys/:keyId/budgets': { id: ID, per: 'day', limit_usd: '1' },
  'GET /keys': undefined,
  'GET /keys/plans': undefined,
  'GET /keys/:keyId': undefined,
  'POST /keys': { id: ID, account_id: 'x', name: 'x', plan: 'default', limit_usd: null, expires_in_days: null },
  'PATCH /keys/:keyId': { name: 'x' },
  'POST /keys/:keyId/rates': { requests_per_minute: 5 },
  'POST /keys/:keyId/extend': { id: ID, days: 1 },
  'POST /keys/:keyId/rotate': { id: ID, overlap_hours: 0 },
  'POST /keys/:keyId/disable': {},
  'POST /keys/:keyId/enable': {},
  'GET /people': undefined,
  'POST /people/invite': { id: ID, email: 'a@example.com', account_id: null, role: 'owner' },
  'POST /people/remove': { email: 'a@example.com', from: 'everything' },
  'POST /people/chat/remove': { chat: '7', account_id: 'acc_north' },
  'POST /people/link': { id: ID, email: 'a@example.com', link: 'password', listener: 'cabinet' },
  'GET /history': undefined,
  'GET /spent': undefined,
  'GET /tokens': undefined,
  'POST /tokens': { id: ID, name: 'x', scope: 'read', expires_in_days: 1 },
  'POST /tokens/:tokenId/revoke': {},
  'GET /form-id': undefined,
  'GET /requests': undefined,
  'GET /requests/:requestId': undefined,
  'GET /audit': undefined,
  'GET /margin': undefined,
  'GET /margin.csv': undefined,
  'GET /explore': undefined,
  'GET /explore.csv': undefined,
  'GET /views': undefined,
  'POST /views': { name: 'x', view: {} },
  'DELETE /views/:id': undefined,
  'GET /find': undefined,
  'GET /choices': undefined,
}
/** Who somebody is, and what an invitation is to: asked before one is signed in; and what is nothing. */
const OPEN = ['GET /me', 'GET /invitations/:token', 'GET /*', 'ALL /*']

test('every route of the console is closed to all but operators, and none is forgotten here', async () => {
  const routes = app.routes
    .filter(({ path }) => path.startsWith('/console/api/'))
    .map(({ method, path }) => `${method} ${path.slice('/console/api'.length)}`)
  expect(routes.toSorted()).toEqual([...Object.keys(ROUTES), ...OPEN].toSorted())
  const nobody = at(world.browser('console'))
  const member = at(await world.add('ann@example.com'))
  const former = await operator('left@example.com')
  await world.people.memberships.remove('left@example.com', 'operator')
  for (const [route, body] of Object.entries(ROUTES)) {
    const [method = '', path = ''] = route.split(' ')
    for (const [who, browser] of Object.entries({ nobody, member, former })) {
      const { status } = await browser.send(method, `/api${path.replaceAll(/:\w+/g, 'x')}`, body)
      expect([who, route, status]).toEqual([who, route, 401])
    }
    if (method === 'GET') continue
    console.origin = 'https://evil.example'
    expect([route, (await console.send(method, `/api${path.replaceAll(/:\w+/g, 'x')}`, body)).status]).toEqual([route, 403])
    console.origin = console.base
  }
})

test('a token of the operator’s API is made once, whose secret one form gets, and revoked, each with its line', async () => {
  const id = await account('acme')
  const form = { id: formId(), name: ' shop ', scope: 'keys', account_ids: [id], expires_in_days: 90, reason: 'the shop' }
  const token = await made(console.post('/api/tokens', form))
  expect(await made(console.post('/api/tokens', form))).toEqual(token)
  expect(String(token['secret'])).toMatch(/^tgop_\w{43}$/)
  const list = async () => ((await console.get('/api/tokens')).body as Rows).data
  expect(await list()).toMatchObject([{ name: 'shop', scope: 'keys', accounts: [{ id, name: 'acme' }], state: 'live', last_used_at: null }])
  expect(JSON.stringify(await list())).not.toContain(String(token['secret']).slice(5, 40))
  expect(await console.post('/api/tokens', { ...form, id: formId(), name: 'other', account_ids: ['acc_none'] })).toMatchObject({
    status: 400,
    body: { error: { field: 'account_ids' } },
  })
  // An empty list may be a form that forgot its accounts; all of them is no list.
  expect(await console.post('/api/tokens', { ...form, id: formId(), name: 'other', account_ids: [] })).toMatchObject({
    status: 400,
    body: { error: { field: 'account_ids', message: expect.stringContaining('without this field it sees all') } },
  })
  expect(await made(console.post(`/api/tokens/${token['id']}/revoke`, { reason: 'lost' }))).toMatchObject({ id: token['id'] })
  expect(await list()).toMatchObject([{ state: 'revoked' }])
  const lines = (await audit(`?target=${token['id']}`)).map(({ action, actor, reason, target_name }) => ({
    action,
    actor,
    reason,
    target_name,
  }))
  const target_name = 'shop'
  expect(lines).toEqual([
    { target_name, action: 'revokeToken', actor: 'person:op@example.com', reason: 'lost' },
    { target_name, action: 'createToken', actor: 'person:op@example.com', reason: 'the shop' },
  ])
})

test('lines about a batch of codes have the name of the batch, as those about accounts, keys and tokens have theirs', async () => {
  const batch = await made(console.post('/api/codes', { id: formId(), count: 2, amount_usd: '5', name: 'fair', expires_in_days: null }))
  await made(console.post(`/api/codes/${batch['id']}/disable`, { reason: 'lost' }))
  const lines = (await audit(`?target=${batch['id']}`)).map(({ action, target_name }) => [action, target_name])
  expect(lines).toEqual([
    ['disableCodes', 'fair'],
    ['createCodes', 'fair'],
  ])
})

test('accounts are made, found, renamed, switched off and credited, each with its line and the person', async () => {
  const id = await account('acme')
  await account('acorn')
  const list = async (search: string) => ((await console.get(`/api/accounts?search=${search}`)).body as Rows).data.map(({ name }) => name)
  expect(await list('AC')).toEqual(['acme', 'acorn'])
  expect(await list('aco')).toEqual(['acorn'])
  expect(await list(id)).toEqual(['acme'])
  const why = { reason: ' by phone ' }
  expect(await made(console.send('PATCH', `/api/accounts/${id}`, { name: 'Acme Ltd', ...why }))).toMatchObject({ name: 'Acme Ltd' })
  expect(await made(console.post(`/api/accounts/${id}/disable`, why))).toMatchObject({ is_active: false })
  expect(await made(console.post(`/api/accounts/${id}/enable`, why))).toMatchObject({ is_active: true })
  const credit = (kind: string, amount_usd: string, more: object = {}) =>
    made(console.post(`/api/accounts/${id}/credits`, { id: formId(), kind, amount_usd, ...why, ...more }))
  expect(await credit('top-up', '2.50', { ref: 'pay-1' })).toMatchObject({ already: false, amount_usd: '2.5', balance_usd: '12.5' })
  expect(await credit('refund', '0.5')).toMatchObject({ amount_usd: '-0.5', balance_usd: '12' })
  expect(await credit('correction', '-13')).toMatchObject({ balance_usd: '-1' })
  expect(await made(console.get(`/api/accounts/${id}`))).toMatchObject({ balance_usd: '-1', held_usd: '0', holds: [], members: [] })
  const by = { actor: 'person:op@example.com', address: '192.0.2.1', target: id, reason: 'by phone' }
  expect(await audit(`?target=${id}`)).toMatchObject([
    { ...by, action: 'credit', before: { balanceUsd: '12' }, after: { kind: 'correction', usd: '-13', balanceUsd: '-1' } },
    { ...by, action: 'credit', after: { kind: 'refund', usd: '-0.5' } },
    { ...by, action: 'credit', before: { balanceUsd: '10' }, after: { kind: 'top-up', usd: '2.5', ref: 'pay-1', balanceUsd: '12.5' } },
    { ...by, action: 'setAccountActive', after: { isActive: true } },
    { ...by, action: 'setAccountActive', before: { isActive: true }, after: { isActive: false } },
    { ...by, action: 'renameAccount', before: { name: 'acme' }, after: { name: 'Acme Ltd' } },
    { action: 'credit', target: id, after: { kind: 'top-up', usd: '10' } },
    { action: 'createAccount', target: id, after: { name: 'acme' } },
  ])
  const { data } = (await console.get(`/api/accounts/${id}/credits`)).body as Rows
  expect(data).toMatchObject([
    { kind: 'correction', amount_usd: '-13', actor: 'person:op@example.com', reason: 'by phone' },
    { kind: 'refund' },
    { kind: 'top-up', ref: 'pay-1' },
    { kind: 'top-up' },
  ])
})

test('money that is sent again under its id or its reference is credited once; something else under it is refused', async () => {
  const [id, other] = [await account('acme'), await account('other')]
  const body = { id: formId(), kind: 'top-up', amount_usd: '5', ref: 'wire-7' }
  const path = `/api/accounts/${id}/credits`
  const answers = await Promise.all(Array.from({ length: 4 }, () => console.post(path, body)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect(await made(console.post(path, { ...body, id: formId() }))).toMatchObject({ already: true, balance_usd: '15' })
  for (const [wrong, at] of [
    [{ amount_usd: '6' }, path],
    [{ kind: 'correction', reason: 'x' }, path],
    [{}, `/api/accounts/${other}/credits`],
  ] as const) {
    const { status, body: said } = await console.post(at, { ...body, id: formId(), ...wrong })
    expect([status, said]).toMatchObject([
      409,
      { error: { field: 'ref', message: expect.stringContaining('The reference "wire-7" was used') } },
    ])
  }
  const twice = { id: formId(), name: 'twice', balance_usd: '3' }
  const ids = await Promise.all([1, 2, 3].map(async () => (await made(console.post('/api/accounts', twice)))['id']))
  expect(new Set(ids).size).toBe(1)
  expect(await made(console.get(`/api/accounts/${ids[0]}`))).toMatchObject({ credited_usd: '3' })
})

test('what is typed wrong is told with its field, and changes nothing', async () => {
  const id = await account('acme')
  const credits = `/api/accounts/${id}/credits`
  const old = formId(Date.now() - 3_700_000)
  for (const [path, body, status, field] of [
    ['/api/accounts', { name: '' }, 400, 'name'],
    ['/api/accounts', { name: 'acc_x' }, 400, 'name'],
    ['/api/accounts', { name: 'acme' }, 409, 'name'],
    ['/api/accounts', { name: 'b', balance_usd: '-1' }, 400, 'balance_usd'],
    ['/api/accounts', { name: 'b', ref: 'r' }, 400, 'balance_usd'],
    ['/api/accounts', { name: 'b', id: 'x' }, 400, 'id'],
    ['/api/accounts', { name: 'b', id: old }, 409, undefined],
    [credits, { kind: 'top-up', amount_usd: '0' }, 400, 'amount_usd'],
    [credits, { kind: 'top-up', amount_usd: '-1' }, 400, 'amount_usd'],
    [credits, { kind: 'top-up', amount_usd: '1e3' }, 400, 'amount_usd'],
    [credits, { kind: 'top-up', amount_usd: '99999999999' }, 400, 'amount_usd'],
    [credits, { kind: 'gift', amount_usd: '1' }, 400, 'kind'],
    [credits, { amount_usd: '1' }, 400, 'kind'],
    [credits, { kind: 'refund', amount_usd: '1' }, 400, 'reason'],
    [credits, { kind: 'refund', amount_usd: '11', reason: 'x' }, 409, 'amount_usd'],
    [credits, { kind: 'correction', amount_usd: '1', reason: '  ' }, 400, 'reason'],
    [credits, { kind: 'correction', amount_usd: '1', reason: 'a\u0000b' }, 400, 'reason'],
    [credits, { kind: 'top-up', amount_usd: '1', ref: 'x'.repeat(201) }, 400, 'ref'],
    [credits, { kind: 'top-up', amount_usd: '1', ref: 'code:batch_1:1' }, 409, 'ref'],
    [credits, { kind: 'top-up', amount_usd: '1', id: old }, 409, undefined],
    ['/api/accounts/acc_none/credits', { kind: 'top-up', amount_usd: '1' }, 404, undefined],
    ['/api/keys', { account_id: id, name: 'k', plan: 'gold', limit_usd: null, expires_in_days: null }, 400, 'plan'],
    ['/api/keys', { account_id: id, name: 'k', plan: 'default', limit_usd: 'x', expires_in_days: null }, 400, 'limit_usd'],
    ['/api/keys', { account_id: id, name: 'k', plan: 'default', limit_usd: null, expires_in_days: 91 }, 400, 'expires_in_days'],
    ['/api/keys', { account_id: 'acc_none', name: 'k', plan: 'default', limit_usd: null, expires_in_days: null }, 409, undefined],
    ['/api/people/invite', { email: 'x', account_id: null, role: 'owner' }, 400, 'email'],
    ['/api/people/invite', { email: 'x@example.com', account_id: 'acc_none', role: 'owner' }, 400, 'account_id'],
    ['/api/people/remove', { email: 'no@example.com', from: 'account' }, 400, 'account_id'],
    ['/api/people/remove', { email: 'no@example.com', from: 'everything', account_id: id }, 400, 'account_id'],
    ['/api/people/link', { email: 'no@example.com', link: 'password', listener: 'cabinet' }, 404, undefined],
  ] as const) {
    const answer = await console.post(path, { id: formId(), ...body })
    const said = (answer.body['error'] as Facts | undefined)?.['field']
    expect([path, body, answer.status, said]).toEqual([path, body, status, field])
  }
  for (const path of ['/api/requests?from=x', '/api/audit?to=2026-02-31', '/api/requests?outcome=good'])
    expect([path, (await console.get(path)).status]).toEqual([path, 400])
  for (const path of [
    '/api/accounts?after=acc_none',
    '/api/keys?after=x',
    '/api/audit?after=x',
    '/api/accounts/x',
    '/api/keys/x',
    '/api/requests/x',
  ])
    expect([path, (await console.get(path)).status]).toEqual([path, 404])
  expect(await audit()).toHaveLength(2)
})

test('keys are made, found, changed and rotated; a secret is told again only to who sends the same form again', async () => {
  const accountId = await account('acme')
  const form = { id: formId(), account_id: accountId, name: 'ci', plan: 'default', limit_usd: '5', expires_in_days: 30, reason: 'asked' }
  const [first, second] = await Promise.all([made(console.post('/api/keys', form)), made(console.post('/api/keys', form))])
  expect(second).toEqual(first)
  const { id, secret } = first as { id: string; secret: string }
  expect(
    (await gateway.post('/v1/messages', secret, { model: MODEL_ID, max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] })).status,
  ).toBe(200)
  await gateway.idle()
  const other = await operator('two@example.com')
  expect((await other.post('/api/keys', form)).status).toBe(409)
  const found = async (search: string) => ((await console.get(`/api/keys?search=${search}`)).body as Rows).data
  for (const search of ['C', id, secret.slice(-4)])
    expect(await found(search)).toMatchObject([{ id, account_id: accountId, account_name: 'acme' }])
  const extend = { id: formId(), days: 10 }
  const extended = await made(console.post(`/api/keys/${id}/extend`, extend))
  expect(await made(console.post(`/api/keys/${id}/extend`, extend))).toEqual(extended)
  expect((await console.post(`/api/keys/${id}/extend`, { id: formId(), days: 90 })).body).toMatchObject({ error: { field: 'days' } })
  const rotate = { id: formId(), overlap_hours: 0 }
  const rotated = await made(console.post(`/api/keys/${id}/rotate`, rotate))
  expect(await made(console.post(`/api/keys/${id}/rotate`, rotate))).toEqual(rotated)
  expect(await made(console.send('PATCH', `/api/keys/${id}`, { name: 'build', limit_usd: null }))).toMatchObject({
    name: 'build',
    limit_usd: null,
  })
  const rated = { requests_per_minute: 60, input_tokens_per_minute: null, output_tokens_per_minute: 9_000, concurrent_requests: null }
  const rates = { requests_per_minute: 60, output_tokens_per_minute: 9_000, reason: 'loud' }
  expect(await made(console.post(`/api/keys/${id}/rates`, rates))).toMatchObject({ rates: rated })
  expect((await console.post(`/api/keys/${id}/rates`, { requests_per_minute: 1_000_000_000 })).body).toMatchObject({
    error: { field: 'requests_per_minute' },
  })
  expect((await console.post(`/api/keys/${id}/rates`, { requests_per_minute: 0 })).status).toBe(400)
  expect(await made(console.post(`/api/keys/${id}/disable`, { reason: 'leaked' }))).toMatchObject({ state: 'disabled' })
  expect(((await console.get(`/api/accounts/${accountId}/keys`)).body as Rows).data).toMatchObject([{ id, state: 'disabled' }])
  expect((await audit(`?target=${id}`)).map(({ action, reason }) => [action, reason])).toEqual([
    ['setKeyActive', 'leaked'],
    ['setKeyRates', 'loud'],
    ['setKeyLimit', ''],
    ['renameKey', ''],
    ['rotateKey', ''],
    ['setKeyExpiry', ''],
    ['createKey', 'asked'],
  ])
})

test('budgets by window and the plan of new keys are set and removed; each window is shown with what is spent, left and when it resets', async () => {
  const accountId = await account('acme')
  const form = { account_id: accountId, name: 'ci', plan: 'default', limit_usd: null, expires_in_days: null }
  const { id, secret } = (await made(console.post('/api/keys', { id: formId(), ...form }))) as { id: string; secret: string }
  const body = { model: MODEL_ID, max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] }
  const asked = async (): Promise<number> => {
    const { status } = await gateway.post('/v1/messages', secret, body)
    await gateway.idle()
    return status
  }
  expect(await asked()).toBe(200)
  const day = { id: formId(), per: 'day', limit_usd: '1', reason: 'loud' }
  const [first, again] = [
    await made(console.post(`/api/keys/${id}/budgets`, day)),
    await made(console.post(`/api/keys/${id}/budgets`, day)),
  ]
  expect(again).toEqual(first)
  const [shown] = (first as Rows).data
  const spent = String((await made(console.get(`/api/keys/${id}`)))['spent_usd'])
  expect(Number(spent)).toBeGreaterThan(0)
  expect(shown).toMatchObject({ of: 'key', plan: null, set_by: 'operator', per: 'day', limit_usd: '1', spent_usd: spent })
  expect(Number(shown?.['left_usd'])).toBeCloseTo(1 - Number(spent), 12)
  expect(String(shown?.['resets_at'])).toEndWith('T00:00:00.000Z')
  const ofAccount = { per: 'month', limit_usd: '0', reason: 'unpaid' }
  const all = await made(console.post(`/api/accounts/${accountId}/budgets`, { id: formId(), ...ofAccount }))
  expect((all as Rows).data).toMatchObject([{ of: 'account', per: 'month', limit_usd: '0', spent_usd: spent, left_usd: `-${spent}` }])
  expect(((await made(console.get(`/api/keys/${id}/budgets`))) as Rows).data.map(({ of, per }) => [of, per])).toEqual([
    ['key', 'day'],
    ['account', 'month'],
  ])
  expect(await asked()).toBe(429)
  const removed = await made(console.post(`/api/accounts/${accountId}/budgets`, { id: formId(), per: 'month', limit_usd: null }))
  expect((removed as Rows).data).toEqual([])
  expect(await asked()).toBe(200)
  const plan = (name: string | null) => console.post(`/api/accounts/${accountId}/plan`, { id: formId(), plan: name })
  expect((await plan('golden')).body).toMatchObject({ error: { field: 'plan' } })
  expect(await made(plan('default'))).toEqual({ plan: 'default' })
  expect(await made(console.get(`/api/accounts/${accountId}`))).toMatchObject({ plan: 'default' })
  for (const [path, wrong, status, field] of [
    [`/api/keys/${id}/budgets`, { per: 'year', limit_usd: '1' }, 400, 'per'],
    [`/api/keys/${id}/budgets`, { per: 'day', limit_usd: '-1' }, 400, 'limit_usd'],
    ['/api/keys/key_none/budgets', { per: 'day', limit_usd: '1' }, 404, undefined],
    ['/api/accounts/acc_none/budgets', { per: 'day', limit_usd: '1' }, 404, undefined],
    ['/api/accounts/acc_none/plan', { plan: null }, 404, undefined],
  ] as const) {
    const answer = await console.post(path, { id: formId(), ...wrong })
    expect([path, answer.status, (answer.body['error'] as Facts)['field']]).toEqual([path, status, field])
  }
  expect((await audit(`?target=${id}`)).map(({ action, reason }) => [action, reason])).toEqual([
    ['setBudget', 'loud'],
    ['createKey', ''],
  ])
  const actor = 'person:op@example.com'
  expect(await audit(`?target=${accountId}`)).toMatchObject([
    { actor, action: 'setAccountPlan', after: { plan: 'default' } },
    { actor, action: 'setBudget', before: { usd: '0' }, after: { usd: null } },
    { actor, action: 'setBudget', reason: 'unpaid', after: { per: 'month', setBy: 'operator', usd: '0' } },
    { action: 'credit' },
    { action: 'createAccount' },
  ])
})

test('people are invited, given links, and put out, by mail where there is mail; nobody puts himself out', async () => {
  const accountId = await account('acme')
  const form = { id: formId(), email: 'Ann@example.com', account_id: accountId, role: 'reader', reason: 'new' }
  const invited = await made(console.post('/api/people/invite', form))
  expect(await made(console.post('/api/people/invite', form))).toEqual(invited)
  const url = String(invited['link'])
  expect([url.startsWith('http://localhost:8080/cabinet/invite/'), invited['is_mailed']]).toEqual([true, true])
  expect(world.mails.map(({ to, text }) => [to, text.includes(url)])).toEqual([['ann@example.com', true]])
  const token = url.split('/').at(-1) ?? ''
  expect((await world.people.links.accept(token, { signedInAs: undefined, name: 'Ann', password: 'a hash' })).result).toBe('joined')
  expect((await console.get(`/api/accounts/${accountId}`)).body['members']).toMatchObject([{ email: 'ann@example.com', role: 'reader' }])
  expect((await made(console.get('/api/people')))['data']).toMatchObject([
    { email: 'ann@example.com' },
    { email: 'op@example.com', is_operator: true },
  ])
  const link = (more: object) =>
    console.post('/api/people/link', { id: formId(), email: 'ann@example.com', listener: 'cabinet', link: 'sign-in', ...more })
  expect(await made(link({}))).toMatchObject({ link: expect.stringContaining('/cabinet/link/') })
  expect(await made(link({ link: 'password' }))).toMatchObject({ link: expect.stringContaining('/cabinet/reset/') })
  expect((await link({ listener: 'console' })).status).toBe(409)
  const remove = { email: 'ann@example.com', from: 'account', account_id: accountId, reason: 'left' }
  expect((await console.post('/api/people/remove', remove)).status).toBe(200)
  expect((await console.post('/api/people/remove', remove)).status).toBe(404)
  expect((await console.post('/api/people/remove', { email: 'op@example.com', from: 'console' })).status).toBe(409)
  const by = { actor: 'person:op@example.com' }
  expect(await audit('?actor=person:op@example.com')).toMatchObject([
    { ...by, action: 'setAccess', target: accountId, reason: 'left', after: { email: 'ann@example.com', access: 'none' } },
    { ...by, action: 'giveLink', target: 'ann@example.com', after: { link: 'password', listener: 'cabinet' } },
    { ...by, action: 'giveLink', after: { link: 'sign-in' } },
    { ...by, action: 'setAccess', reason: 'new', after: { email: 'ann@example.com', access: 'reader' } },
    { ...by, action: 'credit' },
    { ...by, action: 'createAccount' },
  ])
})

test('lists to choose from have names before ids, by the beginning of a name, and the names of what was chosen', async () => {
  const [north, south] = [await account('North'), await account('South')]
  const chosen = async (query: string) => ((await console.get(`/api/choices?${query}`)).body as Rows).data
  expect(await chosen('of=account&q=nor')).toEqual([{ value: north, text: 'North', detail: north }])
  expect((await chosen('of=account&q=')).map(({ text }) => text)).toEqual(['South', 'North'])
  expect(await chosen(`of=account&ids=${south},acc_none`)).toEqual([
    { value: south, text: 'South', detail: south },
    { value: 'acc_none', text: 'acc_none', detail: 'acc_none' },
  ])
  expect(await chosen('of=model&q=SONN')).toEqual([{ value: MODEL_ID, text: MODEL_ID, detail: '' }])
  expect(await chosen('of=upstream&q=non')).toEqual([{ value: '(none)', text: 'none', detail: '' }])
  expect((await console.get('/api/choices?of=tag')).status).toBe(400)
  const form = { account_id: north, name: 'norbert', plan: 'default', limit_usd: null, expires_in_days: null }
  const { id, secret } = (await made(console.post('/api/keys', { id: formId(), ...form }))) as { id: string; secret: string }
  const detail = `sk-…${secret.slice(-4)} · North`
  expect(await chosen('of=target&q=nor')).toEqual([{ value: north, text: 'North', detail: north }, { value: id, text: 'norbert', detail }]) // biome-ignore format: one line says it.
  expect((await chosen(`of=target&ids=${id},${south}`)).map(({ text }) => text)).toEqual(['norbert', 'South'])
  expect(await chosen('of=actor&q=OP@')).toEqual([{ value: 'person:op@example.com', text: 'op@example.com', detail: '' }])
  expect(await chosen('of=actor&ids=person:op@example.com,os:root')).toEqual([
    { value: 'person:op@example.com', text: 'op@example.com', detail: '' },
    { value: 'os:root', text: 'os:root', detail: '' },
  ])
})

test('an order that there is not is refused with its field, and with those that there are', async () => {
  for (const [list, known] of [
    ['requests', '-cost, -input, -output, -time'],
    ['accounts', 'created, -created, name, -name, balance, -balance, credited, -credited, spent, -spent, topped_up, -topped_up'],
    ['keys', 'created, -created, name, -name, account, -account, spent, -spent, limit, -limit, expires, -expires, last_used, -last_used'],
  ])
    expect(await console.get(`/api/${list}?order=dearest`)).toMatchObject({
      status: 400,
      body: { error: { field: 'order', message: `There is no such order: order is one of ${known}` } },
    })
})

test('requests are looked through by what an index serves, and one tells its upstream, its hold and its ids', async () => {
  const secret = await gateway.createKey({ balanceUsd: '3' })
  for (const content of ['one', 'two']) {
    const body = { model: MODEL_ID, max_tokens: 20, messages: [{ role: 'user', content }] }
    expect((await gateway.post('/v1/messages', secret, body)).status).toBe(200)
    await gateway.idle()
  }
  const rows = async (query: string) => ((await console.get(`/api/requests${query}`)).body as Rows).data
  const [newest] = await rows('')
  expect(await rows(`?account_id=${newest?.['account_id']}&model=${MODEL_ID}&outcome=complete&from=2020-01-01`)).toHaveLength(2)
  expect(await rows(`?key_id=${newest?.['key_id']}&to=2020-01-01`)).toEqual([])
  expect(await rows('?only=waived')).toEqual([])
  const upstream = (newest?.['upstream'] as { name: string } | undefined)?.name
  for (const order of ['', '&order=-cost']) {
    expect(await rows(`?account_id=acc_none&key_id=${newest?.['key_id']}${order}`)).toEqual([])
    expect(await rows(`?account_id=acc_none,${newest?.['account_id']}&key_id=${newest?.['key_id']},key_none${order}`)).toHaveLength(2)
    expect(await rows(`?upstream=${upstream},none&format=messages,chat${order}`)).toHaveLength(2)
    expect(await rows(`?upstream=none${order}`)).toEqual([])
    expect(await rows(`?format=chat&account_id=${newest?.['account_id']}${order}`)).toEqual([])
  }
  expect((await console.get('/api/requests?outcome=lost')).body).toMatchObject({ error: { field: 'outcome' } })
  expect(await rows('?key_id=&account_id=&model=')).toHaveLength(2)
  const { request, other_attempts } = await made(console.get(`/api/requests/${newest?.['request_id']}`))
  expect(other_attempts).toEqual([])
  expect(request).toMatchObject({
    hold_usd: expect.any(String),
    over_hold_usd: null,
    upstream: { name: expect.any(String), model: expect.any(String) },
  })
  const now = Date.now()
  const estimated = `req_${formId(now)}`
  await gateway.world.ledger.hold(holdRequest(estimated, String(newest?.['key_id']), usd('0.01'), { now }))
  await gateway.world.ledger.settle(settlement(estimated, { output: 10 }, { usageSource: 'estimated', bytesPerToken: 4, now }))
  for (const order of ['', '&order=-cost'])
    expect((await rows(`?only=estimated${order}`)).map(({ request_id }) => request_id)).toEqual([estimated])
})
