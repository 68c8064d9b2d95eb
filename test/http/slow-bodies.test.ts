/**
 * Bodies that take their time: a steady one is waited for, a stalled one is not, and neither decides how long the gateway listens to others.
 * Rules: contract.md "Limits"; requests.md "Slow bodies"; platform.md "Bun's server".
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { LIMITS } from '../../src/core/limits.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { errorHeaders } from '../../src/core/refusal-body.ts'
import { TICK_MS, TimerWheel } from '../../src/core/timer-wheel.ts'
import { buildApp } from '../../src/http/app.ts'
import { ClientLimits } from '../../src/http/client-limit.ts'
import { IdempotentResponses } from '../../src/relay/idempotent-responses.ts'
import { LiveStreams } from '../../src/relay/live-streams.ts'
import { type Pace, readBody } from '../../src/relay/read-body.ts'
import { discardBody } from '../../src/relay/refuse-after-body.ts'
import { Relay } from '../../src/relay/relay.ts'
import { ResponseMemory } from '../../src/relay/response-memory.ts'
import { TIMINGS } from '../../src/relay/timings.ts'
import { makeBodyReader } from '../support/body-thread.ts'
import { startFakeUpstream } from '../support/fake-upstream.ts'
import { gatesOf } from '../support/gates.ts'
import { MODEL_ID, startTestGateway, type TestGateway } from '../support/gateway.ts'
import { connectRaw, type RawConnection } from '../support/raw-client.ts'
import { startWatch, undisturbed } from '../support/until.ts'
import { makeTestBodies } from '../support/world.ts'

const BODY = JSON.stringify({ model: MODEL_ID, max_tokens: 8, messages: [{ role: 'user', content: 'Hi' }] })
const headFor = (length: number, secret = ''): string =>
  `POST /v1/messages HTTP/1.1\r\nHost: a\r\nx-api-key: ${secret}\r\nContent-Length: ${length}\r\n\r\n`

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startTestGateway()
})

afterAll(() => gateway.stop())

/** A server that only reads bodies, in milliseconds where the gateway takes seconds. */
function serveReadBody(pace: Pace, totalTimeoutMs = 60_000) {
  const memory = makeTestBodies()
  const monotonicMs = (): number => performance.now()
  const wheel = new TimerWheel()
  const turning = setInterval(() => wheel.turn(monotonicMs()), TICK_MS)
  const time = { clock: { now: Date.now, monotonicMs }, wheel }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const lease = memory.lease({ id: 'key_slow', accountId: 'acc_slow' })
      const body = await readBody(request, time, { bodyBytes: LIMITS.bodyBytes, totalTimeoutMs }, lease, pace)
      if (body instanceof Refusal) await discardBody(request)
      lease.release()
      return body instanceof Refusal
        ? new Response(body.message, { status: body.row.status, headers: errorHeaders(body) })
        : new Response('read')
    },
  })
  const stop = async (): Promise<void> => {
    await server.stop(true)
    clearInterval(turning)
    // Nothing is left to wait for a time.
    expect(wheel.isEmpty).toBe(true)
  }
  return { url: server.url.href, memory, stop }
}

async function drip(connection: RawConnection, text: string, gapMs: number): Promise<void> {
  for (const letter of text) {
    if (connection.received().length > 0 || connection.isClosed()) return
    await connection.send(letter)
    await Bun.sleep(gapMs)
  }
}

test('a body that trickles is 400 after its window, however much of it came before, and gives its memory back', async () => {
  const server = serveReadBody({ windowMs: 150, windowBytesMin: 1_000 })
  for (const start of ['', `{"a":"${'x'.repeat(500_000)}`]) {
    const connection = await connectRaw(server.url)
    await connection.send(headFor(1_000_000) + start)
    await drip(connection, 'x'.repeat(500), 20)
    const response = await connection.response()
    expect([response.status, response.text]).toEqual([400, 'request body was not received in time'])
    await connection.closed
  }
  expect(server.memory.bytes).toBe(0)
  await server.stop()
})

test('a body that is fast enough in every window is read, and one that takes as long as a whole request may is 504', async () => {
  const server = serveReadBody({ windowMs: 300, windowBytesMin: 2 })
  // While this process has no turn it sends nothing either.
  const read = await undisturbed(100, async () => {
    using steady = await connectRaw(server.url)
    await steady.send(headFor(BODY.length))
    await drip(steady, BODY, 10)
    return (await steady.response()).text
  })
  expect(read).toBe('read')
  await server.stop()

  const impatient = serveReadBody({ windowMs: 60_000, windowBytesMin: 1 }, 200)
  const endless = await connectRaw(impatient.url)
  await endless.send(headFor(1_000_000))
  await drip(endless, 'x'.repeat(500), 20)
  const response = await endless.response()
  expect([response.status, response.text]).toEqual([504, 'Service timed out; retry later'])
  await endless.closed
  await impatient.stop()
})

test('the gateway closes the connection of a body that it waits for no longer', async () => {
  const hasty = await startTestGateway({ limits: { totalTimeoutMs: 200 } })
  const secret = await hasty.createKey()
  for (const length of [1_000, 1_000_000]) {
    const connection = await connectRaw(hasty.url)
    await connection.send(`${headFor(length, secret)}{"a":`)
    const { status, headers } = await connection.response()
    expect([status, new Headers([...headers].map(([name, value]) => [name, value])).get('connection')]).toEqual([504, 'close'])
    await connection.closed
  }
  await hasty.stop()
})

test('who was refused and does not go on with the body gets the refusal, and loses the connection', async () => {
  const connection = await connectRaw(gateway.url)
  await connection.send(`${headFor(1_000, 'sk-none')}{"a":`)
  const { status, headers } = await connection.response()
  expect([status, new Headers([...headers].map(([name, value]) => [name, value])).get('connection')]).toEqual([401, 'close'])
  await connection.closed
})

test('the total limit of a request counts from its first byte, so a slow body leaves less for the answer', async () => {
  using upstream = await startFakeUpstream({ answer: () => [{ stall: true }] })
  await using hasty = await startTestGateway({ upstreams: [upstream.url], limits: { totalTimeoutMs: 1_200 } })
  const secret = await hasty.createKey()
  for (const body of [BODY, `${BODY.slice(0, -1)},"stream":true}`]) {
    const ended: string[] = []
    const ask = async (name: string, gapMs: number): Promise<void> => {
      using connection = await connectRaw(hasty.url)
      await connection.send(headFor(body.length, secret) + body.slice(0, 5))
      await Bun.sleep(gapMs)
      await connection.send(body.slice(5))
      ended.push(`${name} ${(await connection.response()).status}`)
    }
    const slow = ask('slow', 800)
    // It begins later and ends later, though its body is whole before that of the slow one.
    await Bun.sleep(400)
    await Promise.all([slow, ask('later', 0)])
    expect([ended.length, ended[0]]).toEqual([2, 'slow 504'])
  }
})

test('a client that leaves in the middle of its body costs nothing and leaves nothing behind', async () => {
  const secret = await gateway.createKey({ id: 'key_leaver' })
  for (let i = 0; i < 5; i++) {
    const connection = await connectRaw(gateway.url)
    await connection.send(`${headFor(1_000_000, secret)}{"model":`)
    await Bun.sleep(10)
    connection.reset()
  }
  expect((await gateway.post('/v1/messages', secret, BODY)).status).toBe(200)
  await gateway.idle()
  expect(gateway.receipts()).toHaveLength(1)
})

test('slow clients do not slow others', async () => {
  const slow = await Promise.all(Array.from({ length: 50 }, () => connectRaw(gateway.url)))
  const secret = await gateway.createKey({ id: 'key_beside_slow' })
  for (const connection of slow) await connection.send(`${headFor(1_000, secret)}{`)
  for (let i = 0; i < 5; i++) expect((await gateway.post('/v1/messages', secret, BODY)).status).toBe(200)
  for (const connection of slow) connection.reset()
})

/** Bun's idle limit, which is a deadline for the first byte of the answer, has a resolution of four seconds: this cannot be shown in less. */
test('an upload that is steady but longer than the server’s idle limit is answered', async () => {
  const { world, bodies } = gateway
  const gates = gatesOf(world)
  const clientLimits = new ClientLimits({ limits: world.limits, now: world.clock.monotonicMs })
  const live = new LiveStreams()
  const relay = new Relay({
    world,
    ...gates,
    live,
    memory: new ResponseMemory({ now: world.clock.monotonicMs }),
    answers: new IdempotentResponses({ now: world.clock.monotonicMs }),
    bodies,
    bodyReader: makeBodyReader().bodyReader,
    timings: TIMINGS,
  })
  const app = buildApp({ world, relay, ...gates, clientLimits }).listen({ port: 0, hostname: '127.0.0.1', idleTimeout: 1 })
  const url = `http://127.0.0.1:${app.server?.port}`
  const secret = await gateway.createKey({ id: 'key_steady' })
  const statuses = ['/v1/messages', '/v1/messages/count_tokens'].map(async (path) => {
    const connection = await connectRaw(url)
    await connection.send(headFor(BODY.length, secret).replace('/v1/messages', path))
    await drip(connection, BODY, Math.ceil(5_500 / BODY.length))
    return [path, (await connection.response()).status]
  })
  expect(await Promise.all(statuses)).toEqual([
    ['/v1/messages', 200],
    ['/v1/messages/count_tokens', 200],
  ])
  await app.stop(true)
}, 180_000)

test('a short body that stalls is 400 when it would be whole at the slowest pace, and 504 when the request has no more time', async () => {
  for (const [totalTimeoutMs, answer] of [
    [60_000, [400, 'request body was not received in time']],
    [100, [504, 'Service timed out; retry later']],
  ] as const) {
    const server = serveReadBody({ windowMs: 100, windowBytesMin: 1_000 }, totalTimeoutMs)
    const connection = await connectRaw(server.url)
    const startedAt = performance.now()
    using watch = startWatch()
    await connection.send(`${headFor(3_000)}{"a":"${'x'.repeat(2_000)}`)
    const response = await connection.response()
    expect([response.status, response.text]).toEqual([...answer])
    expect(watch.ms()).toBeLessThan(2_000)
    if (totalTimeoutMs > 300) expect(performance.now() - startedAt).toBeGreaterThan(290)
    await connection.closed
    expect(server.memory.bytes).toBe(0)
    await server.stop()
  }
})
