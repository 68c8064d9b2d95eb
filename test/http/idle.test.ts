/**
 * Connections without a request: they are kept for `idle_ms`, never less, so that a proxy in front does not find one closed that it is about to use, and not
 * for ever. And what of them an operator can see. Rules: requests.md "Idle connections".
 */

import { afterAll, expect, test } from 'bun:test'
import { MODEL_ID, startTestGateway } from '../support/gateway.ts'
import { connectRaw, rawRequest } from '../support/raw-client.ts'
import { until } from '../support/until.ts'

const IDLE_MS = 2_000
/** Bun looks at a socket every four seconds. */
const LATEST_MS = IDLE_MS + 9_000

const gateway = await startTestGateway({ limits: { idleMs: IDLE_MS } })
const secret = await gateway.createKey()
afterAll(() => gateway.stop())

const authorization = `Bearer ${secret}`
const ASKED = { model: MODEL_ID, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] }
const post = (path: string, body: unknown): Uint8Array => rawRequest('POST', path, { authorization }, JSON.stringify(body))

const REQUESTS: Readonly<Record<string, Uint8Array>> = {
  models: rawRequest('GET', '/v1/models', { authorization }),
  'an answer in one piece': post('/v1/messages', ASKED),
  'a stream': post('/v1/messages', { ...ASKED, stream: true }),
  'a refusal': post('/v1/messages', { ...ASKED, model: 'none' }),
  'a 404': rawRequest('GET', '/nope', {}),
}

test('an idle connection is kept for the limit, whatever was asked on it, and closed after it', async () => {
  const idleAfter = async (what: string, request: Uint8Array): Promise<readonly [string, boolean]> => {
    const connection = await connectRaw(gateway.url)
    await connection.send(request)
    await connection.response()
    const sinceMs = performance.now()
    const closedMs = await Promise.race([connection.closed, Bun.sleep(LATEST_MS).then(() => Number.POSITIVE_INFINITY)])
    connection.reset()
    const idleMs = closedMs - sinceMs
    return [`${what}: ${Math.round(idleMs)} ms`, idleMs >= IDLE_MS && idleMs < LATEST_MS]
  }
  const ends = await Promise.all(Object.entries(REQUESTS).map(([what, request]) => idleAfter(what, request)))
  expect(ends).toEqual(ends.map(([what]) => [what, true]))
}, 180_000)

test('the metrics show the open connections of clients, and the descriptors of the process beside their limit', async () => {
  const read = async (name: string): Promise<number> => {
    const text = await gateway.world.metrics.render()
    return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
  }
  const waitUntil = async (isSo: () => Promise<boolean>): Promise<void> => {
    for (let waitedMs = 0; !(await isSo()) && waitedMs < 60_000; waitedMs += 20) await Bun.sleep(20)
  }
  // Those of the tests before have gone by then.
  await waitUntil(async () => (await read('tollgate_client_connections')) === 0)
  const connections = await read('tollgate_client_connections')
  const descriptors = await read('process_open_fds')
  const clients = await Promise.all(Array.from({ length: 20 }, () => connectRaw(gateway.url)))
  // Both ends are in this process, which opens and closes a few files of its own meanwhile; the kernel accepts a connection before the gateway does.
  await until(async () => (await read('process_open_fds')) >= descriptors + 30, 'the descriptors are open')
  await waitUntil(async () => (await read('tollgate_client_connections')) === connections + 20)
  expect(await read('tollgate_client_connections')).toBe(connections + 20)
  expect(await read('process_max_fds')).toBeGreaterThan(await read('process_open_fds'))
  for (const client of clients) client.reset()
  await waitUntil(async () => (await read('tollgate_client_connections')) <= connections)
  expect(await read('tollgate_client_connections')).toBeLessThanOrEqual(connections)
})
