/**
 * Agents whose prefix grows from turn to turn, over several upstreams with a prompt cache each: spreading them must not make them pay for cold caches.
 * Rules: pool.md "Affinity", "Choice".
 */

import { afterAll, expect, test } from 'bun:test'
import { makeSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import type { UpstreamPool } from '../../src/upstream/pool.ts'
import { MODEL_ID, startTestGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'

const UPSTREAMS = 3
const cleanUps: (() => unknown)[] = []
afterAll(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp()
})

type Input = Readonly<{ input_tokens: number; cache_read_input_tokens: number; cache_creation_input_tokens: number }>
type Ask = (body: unknown) => Promise<Input>

/** Said anew for each session, the same again in each of its turns. */
const words = (session: number, turn: number): string =>
  `Session ${session}, turn ${turn}: ${'read the file and mend the test; '.repeat(4)}`

/** The body of a turn: system and newest words are marked, as agents mark them. */
function bodyOf(session: number, turn: number): unknown {
  const marker = { cache_control: { type: 'ephemeral' } }
  const turns = Array.from({ length: turn + 1 }, (_, at) => [
    { role: 'user', content: [{ type: 'text', text: words(session, at), ...(at === turn ? marker : {}) }] },
    { role: 'assistant', content: `Done with ${at}.` },
  ]).flat()
  const system = [{ type: 'text', text: 'You are an agent. '.repeat(20), ...marker }]
  return { model: MODEL_ID, max_tokens: 8, system, messages: turns.slice(0, -1) }
}

const LANES = 20

/** Each session asks its turns one after the other, some sessions at once. `seen` gets every turn's input. */
async function play(sessions: number, turns: readonly number[], ask: Ask, seen: Input[][]): Promise<void> {
  const lane = async (first: number): Promise<void> => {
    for (let session = first; session < sessions; session += LANES) {
      for (const turn of turns) {
        const inputs = seen[session] ?? []
        inputs[turn] = await ask(bodyOf(session, turn))
        seen[session] = inputs
      }
    }
  }
  await Promise.all(Array.from({ length: LANES }, (_, first) => lane(first)))
}

const rangeOf = (first: number, end: number): readonly number[] => Array.from({ length: end - first }, (_, index) => first + index)

function readShare(seen: readonly Input[][]): number {
  let read = 0
  let all = 0
  for (const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } of seen.flat()) {
    read += cache_read_input_tokens
    all += input_tokens + cache_read_input_tokens + cache_creation_input_tokens
  }
  return read / all
}

/** Straight to one simulator: what a single upstream gives. */
function alone(): Ask {
  const simulator = makeSimulator({ tokensPerSecond: 0 })
  return async (body) => {
    const request = new Request('http://upstream/v1/messages', { method: 'POST', body: JSON.stringify(body) })
    return ((await (await simulator(request)).json()) as { usage: Input }).usage
  }
}

async function throughPool() {
  const simulators = rangeOf(0, UPSTREAMS).map((index) => makeSimulator({ name: `n${index}`, tokensPerSecond: 0 }))
  const serve = (simulator: Simulator, port = 0) => Bun.serve({ hostname: '127.0.0.1', port, idleTimeout: 0, fetch: simulator })
  const servers = simulators.map((simulator) => serve(simulator))
  const port = servers[0]?.port
  const gateway = await startTestGateway({
    upstreams: servers.map(({ port }) => `http://127.0.0.1:${port}`),
    upstream: { priority: 0 },
  })
  cleanUps.push(
    () => Promise.all(servers.map((server) => server.stop(true))),
    () => gateway.stop(),
  )
  const secret = await gateway.createKey({ balanceUsd: '1000' })
  const ask: Ask = async (body) => {
    const answer = await gateway.post('/v1/messages', secret, body)
    if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`)
    return ((await answer.json()) as { usage: Input }).usage
  }
  return {
    gateway,
    ask,
    members: () => (gateway.world.upstreams as UpstreamPool).members(),
    die: () => servers[0]?.stop(true),
    /** With the cache that it had: it belongs to the account there, not to a machine. */
    comeBack: () => {
      const [simulator] = simulators
      if (simulator !== undefined) servers[0] = serve(simulator, port)
    },
  }
}

test('while all are well no more is written to caches than with one upstream, and every upstream has its part', async () => {
  const [sessions, turns] = [200, 20]
  const single: Input[][] = []
  await play(sessions, rangeOf(0, turns), alone(), single)
  const pooled: Input[][] = []
  const { gateway, ask, members } = await throughPool()
  await play(sessions, rangeOf(0, turns), ask, pooled)
  expect(readShare(single)).toBeGreaterThan(0.8)
  expect(readShare(pooled)).toBeGreaterThanOrEqual(0.99 * readShare(single))
  const counts = Map.groupBy(gateway.receipts(), ({ upstream }) => upstream?.name)
  expect(counts.size).toBe(UPSTREAMS)
  for (const receipts of counts.values()) expect(receipts.length).toBeGreaterThan((sessions * turns) / UPSTREAMS / 2)
  expect(gateway.verify()).toEqual([])
  expect(members().map(({ turns: { running, waiting } }) => [running, waiting])).toEqual(Array(UPSTREAMS).fill([0, 0]))
}, 180_000)

test('an upstream that dies and comes back costs its own conversations one cold turn, all others none, and the way back none', async () => {
  const sessions = 60
  const seen: Input[][] = []
  const { gateway, ask, members, die, comeBack } = await throughPool()
  await play(sessions, rangeOf(0, 3), ask, seen)
  const own = ownersOf(gateway.receipts())
  await die()
  await play(sessions, rangeOf(3, 6), ask, seen)
  comeBack()
  const [first] = members()
  await until(() => first?.state(performance.now()) === 'half-open', 'the time for a probe')
  await play(sessions, rangeOf(6, 10), ask, seen)
  const cold = seen.map((inputs) => inputs.filter((input, turn) => turn > 0 && isCold(input, inputs[turn - 1])).length)
  const moved = cold.filter((count) => count > 0)
  expect(moved.length).toBe(own.get('upstream-0') ?? 0)
  expect(moved.length).toBeWithin(4, 41)
  expect(Math.max(...cold)).toBe(1)
  const last = new Map(gateway.receipts().map((receipt) => [Buffer.from(receipt.sessionHash ?? []).toString('hex'), receipt]))
  expect(ownersOf([...last.values()]).get('upstream-0'), 'who has come home before its new cache is cold').toBeUndefined()
  await play(sessions * 2, [0], ask, [])
  expect(members()[0]?.state(performance.now()), 'it takes new ones').toBe('closed')
  expect(gateway.verify()).toEqual([])
}, 180_000)

/** Read less than the turn before had left in the cache. */
const isCold = (input: Input, before: Input | undefined): boolean =>
  before !== undefined && input.cache_read_input_tokens < before.cache_read_input_tokens + before.cache_creation_input_tokens

/** How many conversations each upstream has answered. */
function ownersOf(receipts: ReturnType<Awaited<ReturnType<typeof throughPool>>['gateway']['receipts']>): ReadonlyMap<string, number> {
  const sessions = Map.groupBy(receipts, ({ upstream }) => upstream?.name ?? '')
  return new Map(
    [...sessions].map(([name, of]) => [name, new Set(of.map(({ sessionHash }) => Buffer.from(sessionHash ?? []).toString('hex'))).size]),
  )
}
