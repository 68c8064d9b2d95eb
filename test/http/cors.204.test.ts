/** What a browser asks before a request is answered without a key, and refusals can be read as answers can. Rules: requests.md "Browsers". */

import { expect, test } from 'bun:test'
import { ask, bearer, smallApp } from '../support/app.ts'
import { makeTestWorld } from '../support/world.ts'

const PREFLIGHT = { origin: 'https://chat.example', 'access-control-request-method': 'POST' }

test('a preflight on any path under /v1 is 204 without a key, for the methods and headers that clients use', async () => {
  const { world } = makeTestWorld()
  const app = smallApp(world)
  for (const path of ['/v1/models', '/v1/models/a/b', '/v1/messages', '/v1/chat/completions', '/v1/dashboard/balance']) {
    const response = await ask(app, path, { method: 'OPTIONS', headers: PREFLIGHT })
    expect(response.status).toBe(204)
    expect(await response.text()).toBe('')
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(response.headers.get('access-control-allow-methods')).toBe('GET, POST, OPTIONS')
    for (const name of ['authorization', 'x-api-key', 'content-type', 'anthropic-version'])
      expect(response.headers.get('access-control-allow-headers')).toContain(name)
    expect(response.headers.get('x-request-id')).toStartWith('req_')
  }
})

test('a preflight allows the headers it asks for, and nothing that is not a header name', async () => {
  const { world } = makeTestWorld()
  const app = smallApp(world)
  const allowed = async (asked: string): Promise<string | null> =>
    (await ask(app, '/v1/messages', { method: 'OPTIONS', headers: { ...PREFLIGHT, 'access-control-request-headers': asked } })).headers.get(
      'access-control-allow-headers',
    )
  expect(await allowed('authorization,x-stainless-lang')).toBe('authorization,x-stainless-lang')
  for (const odd of ['<script>', 'a;b', 'x'.repeat(5_000), '"']) expect(await allowed(odd)).toContain('authorization, x-api-key')
})

test('narrowed origins are echoed one by one on answers and refusals; others are told nothing', async () => {
  const { world, addKey } = makeTestWorld({ corsOrigins: ['https://chat.example'] })
  const app = smallApp(world)
  const secret = addKey()
  const originFor = async (origin: string, path: string, init: RequestInit = {}): Promise<string | null> => {
    const response = await ask(app, path, { ...init, headers: { ...init.headers, origin } as Record<string, string> })
    expect(response.headers.get('vary')).toBe('origin')
    return response.headers.get('access-control-allow-origin')
  }
  const cases: [string, RequestInit][] = [
    ['/v1/models', { headers: bearer(secret) }],
    ['/v1/models', {}],
    ['/v1/nope', {}],
    ['/v1/models', { method: 'OPTIONS' }],
  ]
  for (const [path, init] of cases) {
    expect(await originFor('https://chat.example', path, init)).toBe('https://chat.example')
    expect(await originFor('https://evil.example', path, init)).toBeNull()
  }
})

test('OPTIONS elsewhere is the 404 of any unknown path', async () => {
  const { world } = makeTestWorld()
  expect((await ask(smallApp(world), '/metrics', { method: 'OPTIONS', headers: PREFLIGHT })).status).toBe(404)
})
