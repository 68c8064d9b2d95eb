/** Who is not shown a balance, and that asking often brings nothing. Rules: contract.md "Balance"; keys.md "Rate limits". */

import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { makeSecret } from '../../src/core/key.ts'
import { ask, bearer, errorOf, smallApp } from '../support/app.ts'
import { makeTestWorld, START } from '../support/world.ts'

const PATHS = [
  '/v1/dashboard/balance',
  '/v1/dashboard/billing/subscription',
  '/v1/dashboard/billing/usage',
  '/v1/dashboard/billing/credit_grants',
]

test('401 `API key is required` without a Bearer key; x-api-key is not accepted', async () => {
  const { world, addKey } = makeTestWorld()
  const app = smallApp(world)
  const secret = addKey()
  for (const path of PATHS) {
    for (const headers of [{}, { 'x-api-key': secret }, { authorization: 'Bearer' }, { authorization: 'Basic abc' }]) {
      const response = await ask(app, path, { headers })
      expect(response.headers.get('x-should-retry')).toBe('false')
      expect(await errorOf(response)).toEqual({ status: 401, type: 'authentication_error', message: 'API key is required' })
    }
  }
})

test('401 `Invalid API key` for an unknown key, a typo, and both headers', async () => {
  const { world, addKey, lookUps } = makeTestWorld()
  const app = smallApp(world)
  const secret = addKey()
  const unknown = makeSecret(() => randomBytes(64))
  const invalid = { status: 401, type: 'authentication_error', message: 'Invalid API key' }
  for (const path of PATHS) {
    expect(await errorOf(await ask(app, path, { headers: bearer('sk-typo') }))).toEqual(invalid)
    expect(await errorOf(await ask(app, path, { headers: { ...bearer(secret), 'x-api-key': secret } }))).toEqual(invalid)
  }
  expect(lookUps()).toBe(0)
  for (const path of PATHS) expect(await errorOf(await ask(app, path, { headers: bearer(unknown) }))).toEqual(invalid)
})

test('401 `API key is disabled` on the billing paths', async () => {
  const { world, addKey } = makeTestWorld()
  const app = smallApp(world)
  for (const more of [{ isActive: false }, { isAccountActive: false }, { isActive: false, expiresAt: START }])
    for (const path of PATHS.slice(1))
      expect(await errorOf(await ask(app, path, { headers: bearer(addKey(more)) }))).toEqual({
        status: 401,
        type: 'authentication_error',
        message: 'API key is disabled',
      })
})

test('403 `API key expired` at the very millisecond, on every path, also out of the cache', async () => {
  const { world, addKey, advance } = makeTestWorld()
  const app = smallApp(world)
  const secret = addKey({ expiresAt: START + 1_000 })
  const disabled = addKey({ expiresAt: START + 1_000, isActive: false })
  advance(999)
  for (const path of PATHS) expect((await ask(app, path, { headers: bearer(secret) })).status).toBe(200)
  expect((await ask(app, PATHS[0] ?? '', { headers: bearer(disabled) })).status).toBe(200)
  advance(1)
  const expired = { status: 403, type: 'permission_error', message: 'API key expired' }
  for (const path of PATHS) expect(await errorOf(await ask(app, path, { headers: bearer(secret) }))).toEqual(expired)
  expect(await errorOf(await ask(app, PATHS[0] ?? '', { headers: bearer(disabled) }))).toEqual(expired)
})

test('429 per client address counts every request before the key is looked at, and its Retry-After is honoured', async () => {
  const { world, addKey, advance } = makeTestWorld({ limits: { dashboardPerMinute: 4 }, trustedProxies: [] })
  const app = smallApp(world)
  const secret = addKey()
  await ask(app, '/v1/dashboard/balance')
  await ask(app, '/v1/dashboard/balance', { headers: bearer('sk-typo') })
  for (const path of PATHS.slice(0, 2)) expect((await ask(app, path, { headers: bearer(secret) })).status).toBe(200)
  for (const headers of [bearer(secret), {}]) {
    const response = await ask(app, '/v1/dashboard/balance', { headers })
    expect(response.headers.get('retry-after')).toBe('15')
    expect(response.headers.get('x-should-retry')).toBeNull()
    expect(await errorOf(response)).toEqual({ status: 429, type: 'rate_limit_error', message: 'Rate limit exceeded; retry later' })
  }
  expect((await ask(app, '/v1/models', { headers: bearer(secret) })).status).toBe(200)
  advance(15_000)
  expect((await ask(app, '/v1/dashboard/balance', { headers: bearer(secret) })).status).toBe(200)
})

test('503 while the ledger cannot say, never 401', async () => {
  const { world, addKey, setLedgerUp } = makeTestWorld()
  const app = smallApp(world)
  const cached = addKey()
  expect((await ask(app, '/v1/dashboard/balance', { headers: bearer(cached) })).status).toBe(200)
  setLedgerUp(false)
  for (const secret of [cached, addKey(), makeSecret(() => randomBytes(64))]) {
    const response = await ask(app, '/v1/dashboard/balance', { headers: bearer(secret) })
    expect(response.headers.get('retry-after')).toMatch(/^([1-9]|[12]\d|30)$/)
    expect(await errorOf(response)).toEqual({ status: 503, type: 'server_error', message: 'Service temporarily unavailable; retry later' })
  }
})

test('a client that keeps sending unknown keys gets 429 for those, and good keys behind the same address are untouched', async () => {
  const { world, addKey, advance } = makeTestWorld({ limits: { dashboardPerMinute: 100_000 } })
  const app = smallApp(world)
  const secret = addKey()
  const tryUnknown = async (): Promise<number> =>
    (await ask(app, '/v1/models', { headers: bearer(makeSecret(() => randomBytes(64))) })).status
  const statuses: number[] = []
  for (let i = 0; i < 200; i++) statuses.push(await tryUnknown())
  expect(statuses[0]).toBe(401)
  expect(statuses.at(-1)).toBe(429)
  expect((await ask(app, '/v1/models', { headers: bearer(secret) })).status).toBe(200)
  expect((await ask(app, '/v1/models', { headers: bearer('sk-typo') })).status).toBe(401)
  expect((await ask(app, '/v1/models')).status).toBe(401)
  advance(60_000)
  expect(await tryUnknown()).toBe(401)
})
