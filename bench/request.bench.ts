/**
 * One request, without sockets and with an upstream that answers at once: what the gateway adds to a bare handler that passes the body on. With the real
 * ledger on its thread, and with one that agrees to everything at once, so that the cost of the ledger is known by itself. Run: `bun bench/request.bench.ts [requests] [rounds]`.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LIMITS } from '../src/core/limits.ts'
import type { TimerWheel } from '../src/core/timer-wheel.ts'
import { buildApp } from '../src/http/app.ts'
import { ClientLimits } from '../src/http/client-limit.ts'
import { KeyStore } from '../src/ledger/admission/key-store.ts'
import type { Ledger } from '../src/ledger/ledger.ts'
import { BodyMemory } from '../src/relay/body-memory.ts'
import { IdempotentResponses } from '../src/relay/idempotent-responses.ts'
import { LiveStreams } from '../src/relay/live-streams.ts'
import { Relay } from '../src/relay/relay.ts'
import { ResponseMemory } from '../src/relay/response-memory.ts'
import { TIMINGS } from '../src/relay/timings.ts'
import { nativeDoor } from '../src/upstream/doors/native.ts'
import { fetchUpstream } from '../src/upstream/fetch-upstream.ts'
import { UpstreamPool } from '../src/upstream/pool.ts'
import type { Upstream } from '../src/upstream/upstream.ts'
import type { World } from '../src/world.ts'
import { makeBodyReader } from '../test/support/body-thread.ts'
import { gatesOf } from '../test/support/gates.ts'
import { addKey, openTestLedger } from '../test/support/ledger.ts'
import { makeTestWorld } from '../test/support/world.ts'
import { bestOf, print } from './measure.ts'

const REQUESTS = Number(process.argv[2] ?? 1_000)
const ROUNDS = Number(process.argv[3] ?? 7)
/** Requests that run at the same time. */
const LANES = 32
const MODEL = 'vendor/model:v1@2.5'

const ANSWER = JSON.stringify({
  id: 'msg_01',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'All lights went out one by one. '.repeat(12) }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 90, output_tokens: 96 },
})
const instant = (): Promise<Response> => Promise.resolve(new Response(ANSWER, { headers: { 'content-type': 'application/json' } }))

const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
const { ledger } = await openTestLedger({ path: join(folder, 'ledger.db') })
const secret = await addKey(ledger, 'key_bench', { balanceUsd: '1000000' })
const agreeing: Ledger = {
  hold: () => 'held',
  settle: () => Promise.resolve('settled'),
  void: () => 'voided',
  holds: () => [],
  checkpoint: () => undefined,
  findKey: (hash) => ledger.findKey(hash),
  foreignHeads: () => ledger.foreignHeads(),
  keyBalanceOf: (keyId) => ledger.keyBalanceOf(keyId),
  keyBalanceNow: () => Promise.resolve(undefined),
  findIdempotency: (keyId, headerHash) => ledger.findIdempotency(keyId, headerHash),
  findToken: (tokenHash) => ledger.findToken(tokenHash),
  isUsedUp: (keyId) => ledger.isUsedUp(keyId),
  operate: (operation) => ledger.operate(operation),
  onKeyChange: (listener) => ledger.onKeyChange(listener),
  onImport: (listener) => ledger.onImport(listener),
  isWritable: () => true,
  mayAdmit: () => true,
  isSound: () => true,
  close: () => Promise.resolve(),
}

function onePool(upstream: Upstream, wheel: TimerWheel): UpstreamPool {
  const nothing = (): void => undefined
  const events = {
    called: nothing,
    retried: nothing,
    placed: nothing,
    changed: nothing,
    otherModel: nothing,
    countDiffers: nothing,
    betasRefused: nothing,
    thinkingLost: nothing,
  }
  const pool = new UpstreamPool({ wheel, now: Date.now, monotonicMs: () => performance.now(), random: Math.random, events })
  pool.configure([{ name: 'primary', priority: 0, weight: 1, maxConcurrent: 10_000, upstream }])
  return pool
}

type Handler = (request: Request) => Promise<Response>

function gatewayWith(keptBy: Ledger): Handler {
  const { world: base } = makeTestWorld()
  const world: World = {
    ...base,
    requestId: () => `req_${Bun.randomUUIDv7().replaceAll('-', '')}`,
    ledger: keptBy,
    keys: new KeyStore(keptBy, { now: base.clock.now }),
    upstreams: onePool(
      fetchUpstream({
        name: 'north',
        dialect: 'strict',
        baseUrl: 'http://north.example',
        door: nativeDoor({ apiKey: undefined }),
        fetch: instant,
      }),
      base.wheel,
    ),
    limits: () => ({ ...LIMITS, requestsPerMinute: 1e12, bodyBytesPerMinute: 1e15, concurrentRequests: 1e6 }),
  }
  const now = world.clock.monotonicMs
  const gates = gatesOf(world)
  const bodies = new BodyMemory({
    poolBytes: 512 * 1024 * 1024,
    limits: world.limits,
    keyBalanceOf: (keyId) => keptBy.keyBalanceOf(keyId),
    now,
  })
  const { bodyReader } = makeBodyReader()
  const relay = new Relay({
    world,
    ...gates,
    live: new LiveStreams(),
    memory: new ResponseMemory({ now }),
    answers: new IdempotentResponses({ now }),
    bodies,
    bodyReader,
    timings: TIMINGS,
  })
  const app = buildApp({ world, relay, ...gates, clientLimits: new ClientLimits({ limits: world.limits, now }) })
  return async (request) => app.handle(request)
}

const bare: Handler = async (request) => {
  await request.text()
  const { body, headers } = await instant()
  return new Response(body, { headers })
}

const BODY = JSON.stringify({ model: MODEL, max_tokens: 100, messages: [{ role: 'user', content: 'Which lights went out? '.repeat(14) }] })

async function ask(handler: Handler, path: string): Promise<number> {
  const lane = async (): Promise<void> => {
    for (let n = 0; n < REQUESTS / LANES; n++) {
      const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
      const answer = await handler(new Request(`http://gateway.example${path}`, { method: 'POST', headers, body: BODY }))
      const text = await answer.text()
      if (answer.status !== 200) throw new Error(text)
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return REQUESTS
}

const durable = gatewayWith(ledger)
const free = gatewayWith(agreeing)
const REFERENCE = 'a bare handler'
const best = await bestOf(
  [
    { name: REFERENCE, run: () => ask(bare, '/v1/messages') },
    { name: 'messages, no ledger', run: () => ask(free, '/v1/messages') },
    { name: 'chat, no ledger', run: () => ask(free, '/v1/chat/completions') },
    { name: 'messages, hold and durable settle', run: () => ask(durable, '/v1/messages') },
    { name: 'chat, hold and durable settle', run: () => ask(durable, '/v1/chat/completions') },
  ],
  ROUNDS,
)
console.log(`${REQUESTS} requests a round, ${LANES} at a time, ${BODY.length} byte bodies, best of ${ROUNDS} rounds after 2 for warming up`)
print(best, 'request', REFERENCE)
await ledger.close()
rmSync(folder, { recursive: true, force: true })
