/**
 * Who may do what over the operator's API: a token, in one header alone, for as long as it lives, within its scope and its accounts; a client that guesses tokens is
 * slowed down by its address. Rules: operator-api.md "Tokens", "Scopes", "Errors".
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { makeToken } from '../../../src/core/api-token.ts'
import { DAY_MS } from '../../../src/core/utc.ts'
import { newToken } from '../../../src/ledger/operations/token-writes.ts'
import { type ApiAnswer, type ApiClient, apiClient, clientOf } from '../../support/api-client.ts'
import { startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { until } from '../../support/until.ts'

let gateway: TestGateway
let all: ApiClient
/** Accounts `north` and `south`, each with a key. */
const ids = { north: '', south: '', northKey: '', southKey: '' }

beforeAll(async () => {
  gateway = await startTestGateway()
  all = await apiClient(gateway)
  for (const name of ['north', 'south'] as const) {
    ids[name] = String((await all.post('/accounts', { name, balance_usd: '10' })).body['id'])
    ids[`${name}Key`] = String((await all.post('/keys', { account_id: ids[name], name: 'k' })).body['id'])
  }
})
afterAll(async () => {
  expect(gateway.verify()).toEqual([])
  await gateway.stop()
})

const errorOf = ({ status, body, headers }: ApiAnswer) => {
  expect(Object.keys(body)).toEqual(['type', 'error'])
  expect(headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{32}$/)
  expect(headers.get('access-control-allow-origin')).toBeNull()
  expect(headers.get('x-should-retry') ?? headers.get('retry-after')).not.toBeNull()
  return { status, ...(body['error'] as { type: string; message: string }) }
}
const UNAUTHORIZED = { status: 401, type: 'authentication_error' }
const MISSING = { status: 404, type: 'not_found_error', message: 'There is nothing with this id' }

test('only a token as Bearer opens it: no cookie, no key of a customer, no other header', async () => {
  const ask = async (headers: Record<string, string>): Promise<ReturnType<typeof errorOf>> => {
    const answer = await fetch(`${gateway.operatorUrl}/api/v1/accounts`, { headers })
    return errorOf({ status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> })
  }
  const REQUIRED = { ...UNAUTHORIZED, message: 'API token is required' }
  const INVALID = { ...UNAUTHORIZED, message: 'Invalid API token' }
  expect(await ask({})).toEqual(REQUIRED)
  expect(await ask({ cookie: `token=${all.token}`, 'x-api-key': all.token })).toEqual(REQUIRED)
  expect(await ask({ authorization: all.token })).toEqual(INVALID)
  expect(await ask({ authorization: `Basic ${btoa(`x:${all.token}`)}` })).toEqual(INVALID)
  expect(await ask({ authorization: `Bearer ${all.token.slice(0, -1)}~` })).toEqual(INVALID)
  expect(await ask({ authorization: `Bearer ${await gateway.createKey()}` })).toEqual(INVALID)
  const preflight = await fetch(`${gateway.operatorUrl}/api/v1/accounts`, {
    method: 'OPTIONS',
    headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
  })
  expect(preflight.headers.get('access-control-allow-origin')).toBeNull()
  expect(preflight.status).toBe(401)
})

test('a path that does not exist is 404 with a token, and 401 without: nothing is learned', async () => {
  expect(errorOf(await all.get('/nothing'))).toMatchObject({ status: 404, type: 'not_found_error' })
  expect(errorOf(await clientOf(gateway.operatorUrl, '').get('/nothing'))).toMatchObject(UNAUTHORIZED)
})

test('an expired token is 403; a revoked one 401 with the next request, also where its last answer is still running', async () => {
  const now = Date.now()
  const old = newToken({ tokenId: 'tok_old', name: 'old', scope: 'all', accountIds: [], expiresInDays: 1 }, now - DAY_MS - 1)
  expect(await gateway.ledger.operate(old.operation)).toEqual({ result: 'done' })
  expect(errorOf(await clientOf(gateway.operatorUrl, old.secret).get('/accounts'))).toEqual({
    status: 403,
    type: 'permission_error',
    message: 'API token expired',
  })
  const client = await apiClient(gateway)
  expect((await client.get('/accounts')).status).toBe(200)
  await gateway.ledger.operate({ kind: 'revokeToken', tokenId: client.tokenId, now: Date.now() })
  expect(errorOf(await client.get('/accounts'))).toMatchObject(UNAUTHORIZED)
  expect(errorOf(await client.post(`/accounts/${ids.north}/top-ups`, { amount_usd: '1' }))).toMatchObject(UNAUTHORIZED)
})

test('its use is noted, at most once a minute', async () => {
  const client = await apiClient(gateway)
  const record = () => gateway.ledger.findToken(new Bun.CryptoHasher('sha256').update(client.token).digest())
  const usedAt = async (): Promise<unknown> => ((await record()) as { lastUsedAt: number | null }).lastUsedAt
  await client.get('/accounts')
  await until(async () => (await usedAt()) !== null)
  const first = await usedAt()
  await client.get('/accounts')
  await client.get('/accounts')
  expect(await usedAt()).toBe(first)
})

/** What each scope needs, by route; a route that is not listed for a scope is 403. */
const WRITES: readonly (readonly [scope: 'keys' | 'money' | 'all', path: () => string, body: object])[] = [
  ['keys', () => '/keys', { name: 'made' }],
  ['keys', () => `/keys/${ids.northKey}/limit`, { limit_usd: '5' }],
  ['keys', () => `/keys/${ids.northKey}/rates`, { requests_per_minute: 5 }],
  ['keys', () => `/keys/${ids.northKey}/disable`, {}],
  ['keys', () => `/keys/${ids.northKey}/enable`, {}],
  ['keys', () => `/accounts/${ids.north}/tags`, { tags_user_ids: true }],
  ['keys', () => `/accounts/${ids.north}/plan`, { plan: null }],
  ['keys', () => `/accounts/${ids.north}/budgets`, { per: 'day', limit_usd: '1' }],
  ['keys', () => `/keys/${ids.northKey}/budgets`, { per: 'day', limit_usd: '1' }],
  ['keys', () => '/accounts', {}],
  ['money', () => `/accounts/${ids.north}/top-ups`, { amount_usd: '1' }],
  ['money', () => `/accounts/${ids.north}/corrections`, { amount_usd: '-1', reason: 'x' }],
  ['all', () => '/accounts', { balance_usd: '1' }],
  ['all', () => '/keys', { account_id: 'NORTH', balance_usd: '1' }],
]

test.each(['read', 'keys', 'money', 'all'] as const)('the scope %s may do what it says and nothing else', async (scope) => {
  const client = await apiClient(gateway, { scope })
  const [account, key] = [`/accounts/${ids.north}`, `/keys/${ids.northKey}`]
  for (const path of ['/accounts', '/keys', '/credits', account, key, `${account}/budgets`, `${key}/budgets`])
    expect([path, (await client.get(path)).status]).toEqual([path, 200])
  for (const [needed, path, body] of WRITES) {
    const sent = 'account_id' in body ? { ...body, account_id: ids.north } : body
    const answer = await client.post(path(), 'name' in sent ? { ...sent, name: `${scope}-${needed}` } : sent)
    const isAllowed = scope === 'all' || scope === needed
    expect([needed, path(), answer.status]).toEqual([needed, path(), isAllowed ? 200 : 403])
    if (!isAllowed) expect(errorOf(answer).type).toBe('permission_error')
  }
})

test('a token that is bound to an account sees no other, whatever it guesses, and reaches no global act', async () => {
  const client = await apiClient(gateway, { accountIds: [ids.north] })
  const rows = async (path: string) => ((await client.get(path)).body as { data: Record<string, unknown>[] }).data
  expect((await rows('/accounts')).map(({ id }) => id)).toEqual([ids.north])
  expect((await rows('/accounts?search=so')).length).toBe(0)
  expect(new Set((await rows('/keys')).map(({ account_id }) => account_id))).toEqual(new Set([ids.north]))
  expect(new Set((await rows('/credits')).map(({ account_id }) => account_id))).toEqual(new Set([ids.north]))
  const unknown = { account: 'acc_00000000000000000000000000000000', key: 'key_00000000000000000000000000000000' }
  for (const [account, key] of [
    [ids.south, ids.southKey],
    [unknown.account, unknown.key],
  ]) {
    const [lists, budgets] = [
      [`/keys?account_id=${account}`, `/credits?account_id=${account}`],
      [`/accounts/${account}/budgets`, `/keys/${key}/budgets`],
    ]
    const paths = [`/accounts/${account}`, `/keys/${key}`, ...lists, ...budgets]
    for (const path of paths) expect([path, errorOf(await client.get(path))]).toEqual([path, MISSING])
    const writes: readonly (readonly [string, object])[] = [
      [`/accounts/${account}/top-ups`, { amount_usd: '1' }],
      [`/accounts/${account}/rename`, { name: 'mine' }],
      [`/accounts/${account}/disable`, {}],
      [`/accounts/${account}/tags`, { tags_user_ids: true }],
      [`/accounts/${account}/plan`, { plan: 'small' }],
      [`/accounts/${account}/budgets`, { per: 'day', limit_usd: '1' }],
      [`/keys/${key}/rotate`, {}],
      [`/keys/${key}/extend`, { days: 1 }],
      [`/keys/${key}/disable`, {}],
    ]
    for (const [path, body] of writes) expect([path, errorOf(await client.post(path, body))]).toEqual([path, MISSING])
    expect(errorOf(await client.post('/keys', { account_id: account })).message).toBe('account_id: There is no such account')
  }
  expect((await client.post('/accounts', {})).status).toBe(403)
  expect((await client.post('/keys', {})).status).toBe(403)
  expect((await client.post('/keys', { account_id: ids.north, name: 'own' })).status).toBe(200)
  const two = await apiClient(gateway, { accountIds: [ids.north, ids.south] })
  expect(errorOf(await two.get('/keys'))).toMatchObject({ status: 400, message: expect.stringMatching(/^account_id: /) })
  expect((await two.get(`/keys?account_id=${ids.south}`)).status).toBe(200)
})

test('a token that is bound to an account learns nothing of a credit of another one whose reference it guesses', async () => {
  const credited = (await all.post(`/accounts/${ids.south}/top-ups`, { amount_usd: '77', ref: 'invoice-1' })).body
  const client = await apiClient(gateway, { accountIds: [ids.north] })
  const own = { account_id: ids.north, name: 'guess', balance_usd: '1', ref: 'invoice-1' }
  for (const answer of [
    await client.post(`/accounts/${ids.north}/top-ups`, { amount_usd: '77', ref: 'invoice-1' }),
    await client.post('/keys', own),
  ]) {
    expect(errorOf(answer)).toMatchObject({ status: 400, message: 'the reference "invoice-1" was used before' })
    expect(JSON.stringify(answer.body)).not.toContain(String(credited['credit_id']))
  }
  expect((await client.post(`/accounts/${ids.north}/top-ups`, { amount_usd: '3', ref: 'own-1' })).status).toBe(200)
  expect(errorOf(await client.post(`/accounts/${ids.north}/top-ups`, { amount_usd: '4', ref: 'own-1' })).message).toMatch(/ of 3 USD$/)
})

test('writes are limited for each token, and looks are not', async () => {
  const [client, other] = [await apiClient(gateway), await apiClient(gateway)]
  // Two a second flow back: no machine is so slow that it needs a minute for all of them.
  const answers = await Promise.all(Array.from({ length: 250 }, () => client.post(`/keys/${ids.northKey}/enable`)))
  const limited = answers.filter(({ status }) => status === 429)
  expect(limited.length).toBeGreaterThan(0)
  expect(errorOf(limited[0] as ApiAnswer)).toMatchObject({ type: 'rate_limit_error' })
  expect((await client.get('/accounts')).status).toBe(200)
  expect((await other.post(`/keys/${ids.northKey}/enable`)).status).toBe(200)
})

test('a wrong field is named, an unknown one refused, a body that is too large or no JSON too', async () => {
  const message = async (path: string, body: unknown) => errorOf(await all.post(path, body)).message
  expect(await message('/keys', { limit_usd: 'much' })).toMatch(/^limit_usd: /)
  expect(await message('/keys', { expires_in_days: 91 })).toMatch(/^expires_in_days: /)
  expect(await message('/keys', { lmit_usd: '5' })).toBe('lmit_usd: There is no such field')
  expect(await message('/keys', { plan: 'golden' })).toMatch(/^plan: /)
  expect(await message('/keys', { reason: 'a\nb' })).toMatch(/^reason: /)
  expect(await message('/keys', { name: 'key_mine' })).toMatch(/^name: /)
  expect(await message(`/accounts/${ids.north}/top-ups`, { amount_usd: '-1' })).toMatch(/^amount_usd: /)
  expect(await message(`/accounts/${ids.north}/refunds`, { amount_usd: '1' })).toMatch(/^reason: /)
  expect(errorOf(await all.get('/keys?limit=5000')).message).toMatch(/^limit: /)
  expect(errorOf(await all.get('/keys?cursor=nowhere')).message).toMatch(/^cursor: /)
  expect(errorOf(await all.post('/keys', { name: 'x'.repeat(70_000) })).status).toBe(413)
  const headers = { authorization: `Bearer ${all.token}` }
  const raw = (body: string, type: string) =>
    fetch(`${gateway.operatorUrl}/api/v1/keys`, { method: 'POST', headers: { ...headers, 'content-type': type }, body })
  expect((await raw('{"name"', 'application/json')).status).toBe(400)
  expect((await raw('{}', 'text/plain')).status).toBe(415)
  expect(errorOf(await all.post('/keys', {}, 'ü')).message).toMatch(/^Idempotency-Key: /)
})

test('a client that guesses tokens gets 429; a good token behind the same address goes on', async () => {
  const guess = () =>
    clientOf(
      gateway.operatorUrl,
      makeToken(() => randomBytes(64)),
    ).get('/accounts')
  const statuses: number[] = []
  for (let tries = 0; tries < 200 && statuses.at(-1) !== 429; tries++) statuses.push((await guess()).status)
  expect(statuses.at(-1)).toBe(429)
  expect(statuses.length).toBeGreaterThan(100)
  expect((await all.get('/accounts')).status).toBe(200)
})
