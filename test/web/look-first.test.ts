/** Only an endpoint that shows something of this moment waits for the relays. Rules: processes.md "Once". */

import { expect, test } from 'bun:test'
import { lookingFirst } from '../../src/web/look-first.ts'
import type { Pages } from '../../src/web/mount.ts'

/** How often relays are asked when this is sent. */
async function looksOf(method: string, path: string): Promise<number> {
  let looks = 0
  const look = () => {
    looks++
    return Promise.resolve()
  }
  const load = () => Promise.resolve({ handle: () => Promise.resolve(new Response()) } as unknown as Pages)
  const { cabinet } = lookingFirst(look, { cabinet: load, console: load, api: load })
  await (await cabinet()).handle(new Request(`http://127.0.0.1${path}`, { method }))
  return looks
}

test.each([
  '/console/api/now',
  '/console/api/upstreams',
  '/console/api/accounts/acc_1',
  '/console/api/accounts/acc_1/keys',
  '/console/api/keys',
  '/console/api/keys/key_1',
  '/cabinet/api/accounts/acc_1/summary',
  '/cabinet/api/accounts/acc_1/running',
  '/cabinet/api/accounts/acc_1/keys',
  '/cabinet/api/accounts/acc_1/keys/key_1',
  '/api/v1/accounts/acc_1',
  '/api/v1/keys?limit=5',
  '/api/v1/keys/key_1',
])('what %s shows is of this moment', async (path) => {
  expect(await looksOf('GET', path)).toBe(1)
})

test.each([
  ['POST', '/api/v1/keys'],
  ['POST', '/console/api/accounts/acc_1/keys'],
  ['PATCH', '/console/api/keys/key_1'],
  ['GET', '/cabinet/api/me'],
  ['GET', '/cabinet/api/accounts/acc_1/spend'],
  ['GET', '/cabinet/api/accounts/acc_1/requests'],
  ['GET', '/console/api/history'],
  ['GET', '/api/v1/audit'],
  ['GET', '/console/keys'],
])('%s %s waits for no relay', async (method, path) => {
  expect(await looksOf(method, path)).toBe(0)
})
