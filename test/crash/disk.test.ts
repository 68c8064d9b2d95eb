/**
 * Files that cannot be written any more: the gateway stops spending and comes back by itself. Rules: ledger.md "Failing writes". The disk that is full: a limit on the size of the process's files, which needs no rights and can be lifted while
 * it runs. SQLite's own SQLITE_FULL is met in test/ledger/full-disk.test.ts.
 */

import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { type Call, keepBooks } from './book-keeper.ts'
import { configurationOf, UPSTREAM_ENV } from './configuration.ts'
import { ALL_WAYS, askIn, MODEL_ID, openStream, PROMPT, post } from './load.ts'
import { type GatewayProcess, type Key, Place, PROCESS_TIMEOUT_MS } from './process.ts'

setDefaultTimeout(3 * PROCESS_TIMEOUT_MS)

let place: Place
beforeEach(() => {
  place = new Place()
})
afterEach(() => place.remove())

/** No file of the process may be longer. `unlimited` lifts it. */
function limitFiles(gateway: GatewayProcess, bytes: number | 'unlimited'): void {
  const { exitCode, stderr } = Bun.spawnSync(['prlimit', '--pid', String(gateway.pid), `--fsize=${bytes}:unlimited`])
  if (exitCode !== 0) throw new Error(stderr.toString())
}

test('without space no answer is given away: running ones end in an error, new ones are 503, and all comes back with the space', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const books = keepBooks(({ isStream }: Call, step) => (isStream && step < 2 ? undefined : gate))
  place.write('tollgate.toml', configurationOf({ upstreamUrl: books.url }))
  const gateway = await place.serve({ env: UPSTREAM_ENV })
  const { id, key } = await place.createKey()
  const request = { model: MODEL_ID, max_tokens: 10, messages: [{ role: 'user', content: PROMPT }] }
  const stream = await openStream(gateway.url, key)
  await stream.until('answer-0. 1 ')
  const whole = post(gateway.url, '/v1/messages', key, request)
  while (books.calls.length < 2) await Bun.sleep(5)
  const readyz = async (): Promise<number> => (await fetch(`${gateway.operatorUrl}/readyz`)).status
  const balance = (): Promise<Response> => fetch(`${gateway.url}/v1/dashboard/balance`, { headers: { authorization: `Bearer ${key}` } })
  expect(await readyz()).toBe(200)

  limitFiles(gateway, 4_096)
  open()
  const text = await stream.rest()
  expect(text).toContain('event: error')
  expect(text).toContain('"type":"server_error","message":"Service temporarily unavailable; retry later"')
  expect(text).not.toContain('message_stop')
  expect((await whole).status).toBe(503)
  const refused = await post(gateway.url, '/v1/messages', key, request)
  expect([refused.status, await refused.text()]).toEqual([
    503,
    '{"type":"error","error":{"type":"server_error","message":"Service temporarily unavailable; retry later"}}',
  ])
  expect(await readyz()).toBe(503)
  expect((await balance()).status).toBe(200)
  expect(await place.run('keys', 'limit', id, '5')).toMatchObject({ code: 3, err: expect.stringContaining('did not confirm') })
  expect(gateway.err()).toContain('"alarm":"ledger"')

  limitFiles(gateway, 'unlimited')
  while ((await readyz()) !== 200) await Bun.sleep(20)
  for (const way of ALL_WAYS) expect(await askIn(way, gateway.url, key), way).toBeDefined()
  gateway.signal('SIGTERM')
  expect(await gateway.exited).toEqual({ code: 0, signal: null })
  await place.verify()
  expect(await place.json<Key>('keys', 'show', id)).toMatchObject({ held_usd: 0 })
  expect((await place.json<{ data: { requests: number }[] }>('usage')).data).toMatchObject([{ requests: ALL_WAYS.length }])
  expect(place.leaked([PROMPT, key.slice(3, -4), UPSTREAM_ENV.UPSTREAM_API_KEY])).toEqual([])
  await books.stop()
})
