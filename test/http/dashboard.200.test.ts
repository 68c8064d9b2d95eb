/** What a client is shown of its balance, in each of the shapes that clients know. Rules: contract.md "Balance"; keys.md "Balance of a key". */

import { expect, test } from 'bun:test'
import type { World } from '../../src/world.ts'
import { ask, bearer, smallApp } from '../support/app.ts'
import { usd } from '../support/ledger.ts'
import { makeTestWorld, START } from '../support/world.ts'

test('GET /v1/dashboard/balance answers exactly the balance object', async () => {
  const { world, addKey } = makeTestWorld()
  const secret = addKey({ expiresAt: START + 86_400_000 }, { usd: '24.9985000004', lastSyncedAt: START - 1_500 })
  const response = await ask(smallApp(world), '/v1/dashboard/balance', { headers: bearer(secret) })
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(await response.json()).toEqual({
    object: 'balance',
    balance_usd: 24.9985,
    expires_at: '2027-01-16T08:00:00.000Z',
    is_active: true,
    last_synced_at: '2027-01-15T07:59:58.500Z',
  })
})

test('a key that is not in memory is read from the file, the newer of its two times with it', async () => {
  const { world, addKey } = makeTestWorld()
  const secret = addKey()
  const [limitPicos, spentPicos, balancePicos] = [usd('7'), usd('2.5'), usd('9')]
  const times = { createdAt: 1, expiresAt: null, lastSyncedAt: START - 9_000, toppedUpAt: START - 2_000 }
  const stored = { id: 'key_1', accountId: 'acc_1', name: '', plan: 'default', isActive: true, isAccountActive: true, ...times }
  let found: unknown = { ...stored, limitPicos, spentPicos, balancePicos }
  const reports = { ...world.reports, ask: () => Promise.resolve(found) } as unknown as World['reports']
  const app = smallApp({ ...world, reports, ledger: { ...world.ledger, keyBalanceNow: () => Promise.resolve(undefined) } })
  const read = () => ask(app, '/v1/dashboard/balance', { headers: bearer(secret) })
  expect(await (await read()).json()).toMatchObject({ balance_usd: 4.5, last_synced_at: '2027-01-15T07:59:58.000Z' })
  found = undefined
  expect((await read()).status).toBe(401)
  found = 'tooMany'
  expect((await read()).status).toBe(429)
})

test('a key without an expiry says null', async () => {
  const { world, addKey } = makeTestWorld()
  const response = await ask(smallApp(world), '/v1/dashboard/balance', { headers: bearer(addKey()) })
  expect(await response.json()).toMatchObject({ expires_at: null, balance_usd: 25 })
})

test('a disabled key, or one of an inactive account, still sees its balance, and that it is not active', async () => {
  const { world, addKey } = makeTestWorld()
  const app = smallApp(world)
  for (const more of [{ isActive: false }, { isAccountActive: false }]) {
    const response = await ask(app, '/v1/dashboard/balance', { headers: bearer(addKey(more)) })
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ balance_usd: 25, is_active: false })
  }
})

test('a balance below zero is shown as it is, rounded to six decimals', async () => {
  const { world, addKey } = makeTestWorld()
  const app = smallApp(world)
  for (const [usd, shown] of [
    ['-0.1234567', -0.123457],
    ['-0.0000001', 0],
    ['0', 0],
    ['0.0000015', 0.000002],
    ['1234567.891', 1234567.891],
  ] as const) {
    const response = await ask(app, '/v1/dashboard/balance', { headers: bearer(addKey({}, { usd })) })
    expect(((await response.json()) as { balance_usd: number }).balance_usd).toBe(shown)
  }
})

test('the three billing paths give the remaining balance, and a usage that is always 0', async () => {
  const { world, addKey } = makeTestWorld()
  const app = smallApp(world)
  const headers = bearer(addKey({ expiresAt: START + 999 }, { usd: '3.25' }))
  const read = async (path: string): Promise<unknown> => (await ask(app, `/v1/dashboard/billing/${path}`, { headers })).json()
  expect(await read('subscription')).toMatchObject({ hard_limit_usd: 3.25, access_until: START / 1000 })
  expect(await read('usage')).toMatchObject({ total_usage: 0 })
  expect(await read('usage?start_date=2027-01-01&end_date=2027-02-01')).toMatchObject({ total_usage: 0 })
  expect(await read('credit_grants')).toMatchObject({ total_available: 3.25 })
})

test('each answer carries its ids and CORS, is not cached, and is one log line that names the key but not the secret', async () => {
  const { world, addKey, logLines } = makeTestWorld()
  const secret = addKey()
  const response = await ask(smallApp(world), '/v1/dashboard/billing/usage', { headers: bearer(secret) })
  const id = response.headers.get('x-request-id')
  expect(id).toStartWith('req_')
  expect(response.headers.get('request-id')).toBe(id)
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(logLines()).toHaveLength(1)
  expect(logLines()[0]).toMatchObject({
    request_id: id,
    route: '/v1/dashboard/billing/usage',
    key_id: 'key_1',
    account_id: 'acc_1',
    status: 200,
  })
  expect(JSON.stringify(logLines())).not.toContain(secret)
  expect(await world.metrics.render()).toContain(
    'tollgate_requests_total{route="/v1/dashboard/billing/usage",format="none",model="none",status="200"',
  )
})
