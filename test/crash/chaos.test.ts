/**
 * Three upstreams that are killed, stalled, rate-limited and brought back at random under a hundred streams: what its client sees of each request, what its
 * receipt says and what the upstreams saw tell one story. Rules: pool.md "Failover", "Retry budget". `CHAOS_ROUNDS` sets how often.
 */

import { expect, test } from 'bun:test'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { openDatabase } from '../../db/open.ts'
import { keys } from '../../db/schema/accounts.ts'
import { upstreams } from '../../db/schema/prices.ts'
import { attempts } from '../../db/schema/requests.ts'
import { type ReceiptRow, receiptsIn } from '../support/gateway.ts'
import { type Random, seeded } from '../support/seed.ts'
import { askAndJudge, formatAt, type Judged } from './judged-answer.ts'
import { type GatewayProcess, Place, PROCESS_TIMEOUT_MS } from './process.ts'
import { callsInMetrics, configurationBefore, DOOR_ENV, DOORS, NAMES, type SimulatedDoor, SimulatorProcess } from './simulators.ts'

const ROUNDS = Number(process.env['CHAOS_ROUNDS'] ?? 1)
const WIDTH = 100
const ROUND_MS = 4_000

const LIMITS = 'start_timeout_ms = 8000\ntotal_timeout_ms = 10000\nstall_timeout_ms = 600'
const UPSTREAM_LINES = 'connect_timeout_ms = 500\nmax_concurrent = 80'

const TROUBLES = [
  '[sim error=429 retry_after=1]',
  '[sim error=529]',
  '[sim error=500]',
  '[sim slow ms=300]',
  '[sim html]',
  '[sim empty]',
  '[sim stall ms=1500 after=2]',
  '[sim error=529 after=1]',
  '[sim cut after=2]',
  '[sim reset after=1]',
]

/** The doors of the three, in the order of their names. */
const POOLS: Readonly<Record<string, (random: Random) => readonly SimulatedDoor[]>> = {
  'three upstreams': () => [DOORS.native, DOORS.native, DOORS.native],
  'upstreams behind three doors': (random) => threeOf(Object.values(DOORS), random),
}

/** Three of them, in a random order. */
function threeOf(doors: readonly SimulatedDoor[], random: Random): readonly SimulatedDoor[] {
  const left = [...doors]
  return Array.from({ length: 3 }, () => left.splice(Math.floor(random() * left.length), 1)).flat()
}

for (const [what, doorsOf] of Object.entries(POOLS)) {
  test(
    `whatever becomes of ${what}: a stream that began fails as one error, all else is answered or told to come back, and every call is on record`,
    seeded(async (random) => {
      for (let round = 0; round < ROUNDS; round++) {
        const place = new Place()
        const doors = doorsOf(random)
        console.info(`the doors of this round: ${doors.map(({ kind }) => kind).join(', ')}`)
        const simulators = NAMES.map((name, index) => new SimulatorProcess(name, place.folder, doors[index]))
        try {
          await live(place, simulators, random)
        } finally {
          await Promise.all(simulators.map((simulator) => simulator.kill()))
          await place.remove()
        }
      }
    }),
    ROUNDS * 3 * PROCESS_TIMEOUT_MS,
  )
}

async function live(place: Place, simulators: readonly SimulatorProcess[], random: Random): Promise<void> {
  await Promise.all(simulators.map((simulator) => simulator.start()))
  place.write('tollgate.toml', configurationBefore(simulators, LIMITS, UPSTREAM_LINES))
  const gateway = await place.serve({ env: DOOR_ENV })
  const { id, key } = await place.createKey()
  let isOver = false
  const clients = Array.from({ length: WIDTH }, (_, client) => askUntil(gateway.url, key, client, random, () => isOver))
  const troubles = simulators.map((simulator) => trouble(simulator, random, () => isOver))
  await Bun.sleep(ROUND_MS)
  isOver = true
  await Promise.all(troubles)
  const seen = (await Promise.all(clients)).flat()
  seen.push(...(await untilWell(gateway.url, key)))
  await agree(place, gateway, simulators, seen, id)
  gateway.signal('SIGTERM')
  expect(await gateway.exited).toEqual({ code: 0, signal: null })
  await place.verify()
}

/** Streams mostly, some of them conversations with a cache. */
async function askUntil(url: string, secret: string, client: number, random: Random, isOver: () => boolean): Promise<readonly Judged[]> {
  const seen: Judged[] = []
  for (let turn = 0; !isOver(); turn++) {
    const format = formatAt(random())
    const more = format === 'messages' && random() < 0.5 ? { cache_control: { type: 'ephemeral' } } : {}
    const prompt = `client ${client}, turn ${turn} [sim tokens=15 speed=60]`
    seen.push(await askAndJudge({ url, secret, format, stream: random() < 0.8, prompt, more }))
    if (seen.at(-1)?.end === 'refused') await Bun.sleep(random() * 300)
  }
  return seen
}

async function trouble(simulator: SimulatorProcess, random: Random, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await Bun.sleep(300 + random() * 900)
    if (random() < 0.35) {
      await simulator.kill()
      await Bun.sleep(random() * 500)
      await simulator.start()
      continue
    }
    await simulator.suffer(TROUBLES[Math.floor(random() * TROUBLES.length)] ?? '')
    await Bun.sleep(100 + random() * 500)
    await simulator.suffer('')
  }
}

/** With all upstreams well again the gateway comes back by itself: whole rounds of forty are answered. */
async function untilWell(url: string, secret: string): Promise<readonly Judged[]> {
  const seen: Judged[] = []
  for (const untilMs = performance.now() + PROCESS_TIMEOUT_MS; performance.now() < untilMs; ) {
    const asked = Array.from({ length: 40 }, (_, index) =>
      askAndJudge({ url, secret, format: 'messages', stream: true, prompt: `again ${index}` }),
    )
    const round = await Promise.all(asked)
    seen.push(...round)
    if (round.every(({ end }) => end === 'complete')) return seen
    await Bun.sleep(200)
  }
  throw new Error('the gateway did not come back')
}

type Line = Readonly<{ request_id: string; status: number; cause?: string; attempts?: number; upstream?: string }>

async function agree(
  place: Place,
  gateway: GatewayProcess,
  simulators: readonly SimulatorProcess[],
  seen: readonly Judged[],
  keyId: string,
): Promise<void> {
  const { calls, text } = await callsInMetrics(gateway.operatorUrl)
  const said = linesOf(gateway)
  const books = booksOf(place.ledgerPath)
  const receipts = new Map(books.receipts.map((receipt) => [receipt.requestId, receipt]))
  for (const one of seen) expectOneStory(one, said.get(one.requestId), receipts.get(one.requestId))
  expect(receipts.size).toBeLessThanOrEqual(seen.length)

  const spent = [...said.values()].filter(({ cause }) => cause === 'retry budget')
  expect(Number(/^tollgate_upstream_retries_total\{how="budget spent"\} (\d+)$/m.exec(text)?.[1] ?? 0)).toBe(spent.length)

  const countOf = (rows: readonly { upstream: string | undefined; cause: string }[]): Map<string, number> => {
    const counts = new Map<string, number>()
    for (const { upstream, cause } of rows) counts.set(`${upstream} ${cause}`, (counts.get(`${upstream} ${cause}`) ?? 0) + 1)
    return counts
  }
  const rows = countOf([...books.receipts.map(({ upstream }) => ({ upstream: upstream?.name, cause: 'answered' })), ...books.attempts])
  for (const [what, count] of calls) {
    const cause = what.slice(what.indexOf(' ') + 1)
    const onRecord = rows.get(what) ?? 0
    // What was never sent has no row; nor has an error's status of a request that ended without a receipt, which costs nobody anything.
    if (UNSENT.has(cause)) expect([what, onRecord]).toEqual([what, 0])
    else if (cause.startsWith('status ')) expect(onRecord, what).toBeLessThanOrEqual(count)
    else expect([what, onRecord]).toEqual([what, count])
  }
  for (const what of rows.keys()) expect(calls.has(what), what).toBe(true)
  for (const simulator of simulators) expectArrivals(simulator, calls)

  const cost = books.receipts.reduce((sum, receipt) => sum + priceOf(receipt), 0n)
  expect(books.spentPicos(keyId)).toBe(cost)
  await place.verify()
}

/** Without a status nobody knows whether it arrived. */
const MAYBE_HEARD = new Set(['reset', 'stale'])
const UNSENT = new Set(['refused', 'connect', 'connect timeout', 'dns', 'tls', 'token unreachable'])

/** A client, the log and the ledger say the same of a request. */
function expectOneStory({ requestId, status, end, retryAfter }: Judged, line: Line | undefined, receipt: ReceiptRow | undefined): void {
  const what = JSON.stringify({ requestId, status, end, retryAfter, line })
  if (end === 'complete') expect(receipt, what).toMatchObject({ outcome: 'complete', basis: 'final' })
  // Had nothing begun there is no receipt: the upstreams failed while the client's status could wait no longer.
  else if (end === 'broken') expect([receipt?.outcome ?? 'fault', receipt?.costPicos ?? 0n], what).toEqual(['fault', 0n])
  else if (status === 503) expect([receipt, Number(retryAfter) >= 1, Number(retryAfter) <= 30], what).toEqual([undefined, true, true])
  // The last one's fault is told where no other was left to ask.
  else expect([receipt, status, (line?.attempts ?? 1) >= NAMES.length], what).toEqual([undefined, 502, true])
}

/** What an upstream has answered had arrived there; what broke without a status may have. */
function expectArrivals(simulator: SimulatorProcess, calls: ReadonlyMap<string, number>): void {
  let heard = 0
  let perhaps = 0
  for (const [what, count] of calls) {
    const [upstream, ...cause] = what.split(' ')
    if (upstream !== simulator.name || UNSENT.has(cause.join(' '))) continue
    if (MAYBE_HEARD.has(cause.join(' '))) perhaps += count
    else heard += count
  }
  expect(simulator.calls, simulator.name).toBeWithin(heard, heard + perhaps + 1)
}

function linesOf(gateway: GatewayProcess): ReadonlyMap<string, Line> {
  const lines = gateway
    .err()
    .split('\n')
    .filter((line) => line.includes('"request_id"'))
  return new Map(lines.map((line) => JSON.parse(line) as Line).map((line) => [line.request_id, line]))
}

function booksOf(path: string) {
  const db = openDatabase(path, 'read')
  if ('problem' in db) throw new Error(db.message)
  const rows = drizzle(db).select().from(attempts).all()
  const names = new Map(
    drizzle(db)
      .select()
      .from(upstreams)
      .all()
      .map(({ number, name }) => [number, name]),
  )
  const spent = new Map(
    drizzle(db)
      .select()
      .from(keys)
      .all()
      .map(({ id, spentPicos }) => [id, spentPicos]),
  )
  const books = {
    receipts: receiptsIn(db),
    attempts: rows.map(({ upstreamNumber, cause }) => ({ upstream: names.get(upstreamNumber), cause })),
    spentPicos: (keyId: string): bigint => BigInt(spent.get(keyId) ?? -1n),
  }
  db.close()
  return books
}

/** 3 USD in, 15 out, cached 0.3 and 3.75 a million: in picodollars a token. What a fault delivered is waived. */
const priceOf = ({ outcome, inputTokens, outputTokens, cacheReadTokens, cacheWrite5mTokens }: ReceiptRow): bigint =>
  outcome === 'complete'
    ? BigInt(inputTokens) * 3_000_000n +
      BigInt(outputTokens) * 15_000_000n +
      BigInt(cacheReadTokens) * 300_000n +
      BigInt(cacheWrite5mTokens) * 3_750_000n
    : 0n
