/** Bodies in memory at once are bounded over all clients; beyond the bound a request is refused and told to come back. Source: reliability.md §5. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import type { HoldAnswer, HoldRequest, Ledger } from '../../src/ledger/ledger.ts'
import { BodyMemory, bodyMemoryOf } from '../../src/relay/body-memory.ts'
import { type FakeUpstream, nativeMessage, type Script, startFakeUpstream } from '../support/fake-upstream.ts'
import { MODEL_ID, startTestGateway, type TestGateway } from '../support/gateway.ts'

const MIB = 1024 * 1024
const BOUND = 512 * MIB
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'vendor-sonnet-1',
  content: [{ type: 'text', text: 'Hello' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 5 },
}
const FIELDS = { model: MODEL_ID, max_tokens: 8, messages: [{ role: 'user', content: 'Hi' }] }
const OVERLOADED = '{"type":"error","error":{"type":"server_error","message":"Service temporarily unavailable; retry later"}}'

let upstream: FakeUpstream
let gateway: TestGateway
let secret: string
let script: Script = nativeMessage(MESSAGE)
/** Requests whose body is read wait here before they are held. */
let gate: Promise<void> = Promise.resolve()
let waiting = 0

beforeAll(async () => {
  upstream = await startFakeUpstream({
    answer: ({ path }) => (path.endsWith('count_tokens') ? nativeMessage({ input_tokens: 7 }) : script),
  })
  gateway = await startTestGateway({ upstreams: [upstream.url], wrapLedger: gated })
  secret = await gateway.createKey()
})

afterAll(async () => {
  await gateway.stop()
  upstream.stop()
})

const gated = (ledger: Ledger): Ledger =>
  new Proxy(ledger, {
    get(target, name) {
      if (name === 'hold') return waitAndHold
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member

      async function waitAndHold(request: HoldRequest): Promise<HoldAnswer> {
        waiting++
        await gate
        waiting--
        return target.hold(request)
      }
    },
  })

function padded(length: number): Buffer {
  const bytes = Buffer.alloc(length, 0x20)
  bytes.write(JSON.stringify(FIELDS))
  return bytes
}

/** Takes all but `freeBytes` of the gateway's memory for bodies, as other clients would. */
function occupyAllBut(freeBytes: number): () => void {
  const lease = bodyMemoryOf(gateway.world).lease()
  expect(lease.resize(BOUND - freeBytes)).toBe(true)
  return lease.release
}

test('shares never pass the bound, whatever grows and shrinks, and what is given back is there again', () => {
  const step = fc.record({ lease: fc.nat(4), bytes: fc.nat(150) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const memory = new BodyMemory(300)
      const leases = Array.from({ length: 5 }, () => memory.lease())
      const shares = [0, 0, 0, 0, 0]
      for (const { lease, bytes } of steps) {
        const others = shares.reduce((sum, share) => sum + share, 0) - (shares[lease] ?? 0)
        const fits = bytes <= (shares[lease] ?? 0) || others + bytes <= 300
        expect(leases[lease]?.resize(bytes)).toBe(fits)
        if (fits) shares[lease] = bytes
        expect(memory.bytes).toBe(shares.reduce((sum, share) => sum + share, 0))
        expect(memory.bytes).toBeLessThanOrEqual(300)
      }
      for (const lease of leases) {
        lease.release()
        lease.release()
      }
      expect(memory.bytes).toBe(0)
    }),
  )
})

test('a body that does not fit any more is 503 with Retry-After on every route; small ones and other routes go on', async () => {
  const release = occupyAllBut(MIB)
  for (const path of ['/v1/messages', '/v1/chat/completions', '/v1/responses', '/v1/messages/count_tokens']) {
    const response = await gateway.post(path, secret, padded(2 * MIB))
    expect([path, response.status, await response.text()]).toEqual([path, 503, OVERLOADED])
    expect(response.headers.get('retry-after')).toMatch(/^([1-9]|[12]\d|30)$/)
    expect(response.headers.get('x-should-retry')).toBeNull()
  }
  expect((await gateway.post('/v1/messages', secret, padded(1_000))).status).toBe(200)
  release()
  expect((await gateway.post('/v1/messages', secret, padded(2 * MIB))).status).toBe(200)
  await gateway.idle()
  expect(bodyMemoryOf(gateway.world).bytes).toBe(0)
})

test('of many large bodies at once as many are taken as fit, and all of them afterwards', async () => {
  const release = occupyAllBut(5 * MIB)
  const { promise, resolve: open } = Promise.withResolvers<void>()
  gate = promise
  const body = padded(MIB)
  const statuses: number[] = []
  const answers = Array.from({ length: 20 }, async () => statuses.push((await gateway.post('/v1/messages', secret, body)).status))
  while (statuses.length + waiting < 20) await Bun.sleep(5)
  expect(waiting).toBeLessThanOrEqual(5)
  expect(new Set(statuses)).toEqual(new Set([503]))
  expect(bodyMemoryOf(gateway.world).bytes).toBe(BOUND - (5 - waiting) * MIB)
  open()
  await Promise.all(answers)
  release()
  for (let i = 0; i < 6; i++) expect((await gateway.post('/v1/messages', secret, body)).status).toBe(200)
  await gateway.idle()
  expect(bodyMemoryOf(gateway.world).bytes).toBe(0)
})

test('a body counts as long as its request runs', async () => {
  script = [{ delayMs: 300 }, ...nativeMessage(MESSAGE)]
  const calls = upstream.requests.length
  const answer = gateway.post('/v1/messages', secret, padded(MIB))
  await upstream.arrival(calls)
  expect(bodyMemoryOf(gateway.world).bytes).toBe(MIB)
  expect((await answer).status).toBe(200)
  script = nativeMessage(MESSAGE)
  await gateway.idle()
  expect(bodyMemoryOf(gateway.world).bytes).toBe(0)
})

test('a compressed body needs room for the largest that it may become', async () => {
  const release = occupyAllBut(20 * MIB)
  const body = gzipSync(padded(MIB))
  const send = async (): Promise<number> =>
    (await gateway.post('/v1/messages', secret, body, { headers: { 'x-api-key': secret, 'content-encoding': 'gzip' } })).status
  expect(await send()).toBe(503)
  release()
  expect(await send()).toBe(200)
})
