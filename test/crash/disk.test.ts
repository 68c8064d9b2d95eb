/**
 * Files that cannot be written any more: the gateway stops spending and comes back by itself. Rules: ledger.md "Failing writes". The disk that is full: a limit on the size of the process's files, which needs no rights and can be lifted while
 * it runs. SQLite's own SQLITE_FULL is met in test/ledger/full-disk.test.ts.
 */

import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { until } from '../support/until.ts'
import { type Call, keepBooks } from './book-keeper.ts'
import { PROGRAM } from './compiled.ts'
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

test('without space for a spill either no answer is given away: running ones end in an error, new ones are 503, and all comes back with the space', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const books = keepBooks(({ isStream }: Call, step) => (isStream && step < 2 ? undefined : gate))
  place.write('tollgate.toml', configurationOf({ upstreamUrl: books.url }))
  const gateway = await place.serve({ env: UPSTREAM_ENV })
  const { id, key } = await place.createKey()
  const request = { model: MODEL_ID, max_tokens: 10, messages: [{ role: 'user', content: PROMPT }] }
  const stream = await openStream(gateway.url, key)
  await stream.until('answer-0. 1 ')
  const whole = post(gateway.url, '/v1/messages', key, request)
  await until(() => books.calls.length >= 2)
  const readyz = async (): Promise<number> => (await fetch(`${gateway.operatorUrl}/readyz`)).status
  const balance = (): Promise<Response> => fetch(`${gateway.url}/v1/dashboard/balance`, { headers: { authorization: `Bearer ${key}` } })
  expect(await readyz()).toBe(200)

  limitFiles(gateway, 16)
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
  await until(async () => (await readyz()) === 200)
  for (const way of ALL_WAYS) expect(await askIn(way, gateway.url, key), way).toBeDefined()
  gateway.signal('SIGTERM')
  expect(await gateway.exited).toEqual({ code: 0, signal: null })
  await place.verify()
  expect(await place.json<Key>('keys', 'show', id)).toMatchObject({ held_usd: 0 })
  expect((await place.json<{ data: { requests: number }[] }>('usage')).data).toMatchObject([{ requests: ALL_WAYS.length }])
  expect(place.leaked([PROMPT, key.slice(3, -4), UPSTREAM_ENV.UPSTREAM_API_KEY])).toEqual([])
  await books.stop()
})

test('without space running answers end well by the spill, nobody new is admitted, and a kill and a start without space take nothing away', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const books = keepBooks(({ isStream }: Call, step) => (isStream && step < 2 ? undefined : gate))
  place.write('tollgate.toml', configurationOf({ upstreamUrl: books.url }))
  const gateway = await place.serve({ env: UPSTREAM_ENV })
  const { id, key } = await place.createKey()
  const request = { model: MODEL_ID, max_tokens: 10, messages: [{ role: 'user', content: PROMPT }] }
  const stream = await openStream(gateway.url, key)
  await stream.until('answer-0. 1 ')
  const whole = post(gateway.url, '/v1/messages', key, request)
  await until(() => books.calls.length >= 2)
  const readyz = async (): Promise<number> => (await fetch(`${gateway.operatorUrl}/readyz`)).status

  limitFiles(gateway, 4_096)
  open()
  expect(await stream.rest()).toContain('message_stop')
  expect((await whole).status).toBe(200)
  expect(await readyz()).toBe(503)
  const metrics = await (await fetch(`${gateway.operatorUrl}/metrics`)).text()
  expect(metrics).toContain('tollgate_ledger_writable 0')
  expect(Number(/\ntollgate_spill_bytes (\d+)\n/.exec(metrics)?.[1])).toBeGreaterThan(0)
  expect((await post(gateway.url, '/v1/messages', key, request)).status).toBe(503)
  gateway.signal('SIGKILL')
  await gateway.exited

  // A start without space: no file of the process may become longer than what is there.
  const limited = Bun.spawn(['prlimit', '--fsize=64', ...PROGRAM, 'serve', '--port', '0'], {
    cwd: place.folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: place.folder, ...UPSTREAM_ENV },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  expect(await new Response(limited.stdout).text()).toBe('')
  expect(await limited.exited).toBe(3)

  const again = await place.serve({ env: UPSTREAM_ENV })
  expect(again.err()).toContain('"replayed":2')
  for (const way of ALL_WAYS) expect(await askIn(way, again.url, key), way).toBeDefined()
  again.signal('SIGTERM')
  expect(await again.exited).toEqual({ code: 0, signal: null })
  await place.verify()
  expect(await place.json<Key>('keys', 'show', id)).toMatchObject({ held_usd: 0 })
  expect((await place.json<{ data: { requests: number }[] }>('usage')).data).toMatchObject([{ requests: 2 + ALL_WAYS.length }])
  await books.stop()
})

test('with the space back the same process replays its spill, and is ready again', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const books = keepBooks((call: Call) => (call.number === 0 ? gate : undefined))
  place.write('tollgate.toml', configurationOf({ upstreamUrl: books.url }))
  const gateway = await place.serve({ env: UPSTREAM_ENV })
  const { key } = await place.createKey()
  const running = askIn('messages', gateway.url, key)
  await until(() => books.calls.length >= 1)
  limitFiles(gateway, 4_096)
  open()
  expect(await running).toBeDefined()
  const readyz = async (): Promise<number> => (await fetch(`${gateway.operatorUrl}/readyz`)).status
  expect(await readyz()).toBe(503)
  limitFiles(gateway, 'unlimited')
  await until(async () => (await readyz()) === 200)
  expect(await askIn('chat', gateway.url, key)).toBeDefined()
  gateway.signal('SIGTERM')
  await gateway.exited
  await place.verify()
  expect((await place.json<{ data: { requests: number }[] }>('usage')).data).toMatchObject([{ requests: 2 }])
  await books.stop()
})
