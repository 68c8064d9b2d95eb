/** Every path and method that is none of ours is the contract’s 404. Rules: contract.md "Errors". */

import { expect, test } from 'bun:test'
import { ask, bearer, errorOf, smallApp } from '../support/app.ts'
import { makeTestWorld } from '../support/world.ts'

const MISSING = { status: 404, type: 'not_found_error', message: 'The requested API endpoint does not exist' }

test('a path that is not ours is the contract’s 404, whoever asks', async () => {
  const { world, addKey } = makeTestWorld()
  const app = smallApp(world)
  const headers = bearer(addKey())
  const paths = [
    '/',
    '/v1',
    '/v1/',
    '/models',
    '/v1/v1/models',
    '//v1/models',
    '/v1//models',
    '/v1/models/',
    '/V1/models',
    '/v1/%6dodels',
    '/v1/dashboard',
    '/dashboard/balance',
  ]
  for (const path of [...paths, '/v1/dashboard/balance/', '/zz/v1/models', '/metrics', '/api/hello']) {
    const response = await ask(app, path, { headers })
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect([path, await errorOf(response)]).toEqual([path, MISSING])
  }
})

test('another method on a path of ours is the same 404, with a body or without', async () => {
  const { world, addKey } = makeTestWorld()
  const app = smallApp(world)
  const headers = { ...bearer(addKey()), 'content-type': 'application/json' }
  for (const path of ['/v1/models', '/v1/models/sonnet', '/v1/dashboard/balance', '/v1/dashboard/billing/usage'])
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'HEAD']) {
      const init = method === 'HEAD' ? { method, headers } : { method, headers, body: '{"broken' }
      const response = await ask(app, path, init)
      expect([method, path, response.status]).toEqual([method, path, 404])
    }
})

test('a 404 is one log line with the path, and without what may be a secret in it', async () => {
  const asked: readonly (readonly [path: string, method: string, shown: string])[] = [
    ['/v1/v1/messages?key=canary', 'GET', '/v1/v1/messages'],
    ['/v1/sk-canary0123/messages', 'POST', '/v1/***/messages'],
    ['/v1/models/x', 'HEAD', '/v1/models/x'],
  ]
  const lines = []
  for (const [path, method, shown] of asked) {
    const { world, logLines } = makeTestWorld()
    await ask(smallApp(world), path, { method })
    expect(logLines()).toMatchObject([{ route: 'unknown', status: 404, refusal: 'notFound', path: shown, client: 'unknown', count: 1 }])
    lines.push(...logLines())
  }
  expect(JSON.stringify(lines)).not.toContain('canary')
})
