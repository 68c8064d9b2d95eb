/**
 * `kill -9` of a whole gateway under 200 streams and some whole answers, in all formats: whatever a client saw complete is in the ledger with the same figures, and the upstream's own books
 * agree. Rules: money.md "Settle", "Crashes". `KILL_ROUNDS` sets how often.
 */

import { expect, test } from 'bun:test'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { openDatabase } from '../../db/open.ts'
import { marks } from '../../db/schema.ts'
import { BYTES_PER_TOKEN } from '../../src/config/defaults.ts'
import { ZERO } from '../../src/core/money.ts'
import { type ReceiptRow, receiptsIn } from '../support/gateway.ts'
import { seeded } from '../support/seed.ts'
import { type Call, FIRST_INPUT_TOKENS, keepBooks, textOf } from './book-keeper.ts'
import { configurationOf, UPSTREAM_ENV } from './configuration.ts'
import { type Answer, countsOf, load, PROMPT, STREAMED_WAYS } from './load.ts'
import { Place, PROCESS_TIMEOUT_MS } from './process.ts'

const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 4)
const STREAMS = 200
/** Clients that ask in every way by turns, beside the streams. */
const WIDTH = 24

type Receipt = ReceiptRow

test(
  'killed at any moment, no answer that a client saw whole is missing, no figure differs, nothing stays held',
  seeded(async (random) => {
    const place = new Place()
    // Most streams are in flight for more than a second, so that they leave a mark.
    const books = keepBooks(({ isStream }) => Bun.sleep(random() * (isStream ? 500 : 20)))
    place.write('tollgate.toml', configurationOf({ upstreamUrl: books.url }))
    let gateway = await place.serve({ env: UPSTREAM_ENV })
    const { key } = await place.createKey()
    const seen: Answer[] = []
    const lostCalls = new Set<Call>()
    let recoveredBefore = 0
    for (let round = 1; round <= ROUNDS; round++) {
      const firstCall = books.calls.length
      let isOver = false
      const streams = load(gateway.url, key, STREAMS + WIDTH, () => isOver, STREAMED_WAYS)
      const running = load(gateway.url, key, WIDTH, () => isOver)
      const open = (): number => books.calls.slice(firstCall).filter(({ isStream, isAnswered }) => isStream && !isAnswered).length
      // It runs at full width; the moment after that is random.
      while (open() < STREAMS) await Bun.sleep(5)
      await Bun.sleep(1_400 + random() * 200)
      while (open() < STREAMS) await Bun.sleep(1)
      isOver = true
      gateway.signal('SIGKILL')
      expect((await gateway.exited).signal).toBe('SIGKILL')
      const answers = [...(await streams), ...(await running)]
      seen.push(...answers)
      for (const call of callsWithout(answers, books.calls.slice(firstCall))) lostCalls.add(call)
      gateway = await place.serve({ env: UPSTREAM_ENV })
      await place.verify()
      expect(rowsOf(place.ledgerPath).held).toBe(0)
      const recovered = rowsOf(place.ledgerPath).all.filter(({ outcome }) => outcome === 'recovered').length
      const metrics = await (await fetch(`${gateway.operatorUrl}/metrics`)).text()
      expect(metrics).toContain(`\ntollgate_recovered ${recovered - recoveredBefore}\n`)
      recoveredBefore = recovered
      agree(rowsOf(place.ledgerPath).all, seen, books.calls, lostCalls)
    }
    let turns = 0
    seen.push(...(await load(gateway.url, key, WIDTH, () => turns++ >= 2 * WIDTH)))
    gateway.signal('SIGTERM')
    expect(await gateway.exited).toEqual({ code: 0, signal: null })
    await place.verify()
    agree(rowsOf(place.ledgerPath).all, seen, books.calls, lostCalls)
    expect(seen.length).toBeGreaterThan(ROUNDS * WIDTH)
    expect(rowsOf(place.ledgerPath).all.some(({ outcome }) => outcome === 'recovered')).toBeTrue()
    expect(place.leaked([PROMPT, UPSTREAM_ENV.UPSTREAM_API_KEY, key.slice(3, -4)])).toEqual([])
    await books.stop()
    await place.remove()
  }),
  (ROUNDS + 2) * PROCESS_TIMEOUT_MS,
)

/** The calls whose answer no client saw whole. */
function callsWithout(answers: readonly Answer[], calls: readonly Call[]): readonly Call[] {
  const seen = new Set(answers.map(({ inputTokens, outputTokens }) => `${inputTokens}/${outputTokens}`))
  return calls.filter((call) => !seen.has(`${countsOf(call).input}/${countsOf(call).output}`))
}

/** Clients, ledger and upstream tell the same story. */
function agree(rows: readonly Receipt[], seen: readonly Answer[], calls: readonly Call[], lostCalls: ReadonlySet<Call>): void {
  const byId = new Map(rows.map((row) => [row.requestId, row]))
  for (const { requestId, inputTokens, outputTokens } of seen) {
    const row = byId.get(requestId)
    expect(row).toMatchObject({ outcome: 'complete', usageSource: 'final', outputTokens })
    expect((row?.inputTokens ?? 0) + (row?.cacheReadTokens ?? 0)).toBe(inputTokens)
  }
  // A request that died before its answer began says nothing of its call.
  const begun = rows.filter(({ basis }) => basis !== 'none')
  for (const { outcome, costPicos } of rows) if (outcome === 'recovered') expect(costPicos).toBe(ZERO)
  const byCall = new Map(begun.map((row) => [row.inputTokens - FIRST_INPUT_TOKENS, row]))
  expect(byCall.size).toBe(begun.length)
  for (const [number, row] of byCall) {
    const call = calls[number]
    expect(call, `receipt ${row.requestId} of no call`).toBeDefined()
    if (call !== undefined) expectBooked(row, call)
  }
  const unbooked = calls.filter((call) => !byCall.has(call.number))
  expect(unbooked.filter((call) => !lostCalls.has(call))).toEqual([])
}

/** Exactly what the upstream counted; for a request that died, no more than that or than what its words are worth, and waived. */
function expectBooked(row: Receipt, call: Call): void {
  const { usage } = call
  expect([row.inputTokens, row.cacheReadTokens]).toEqual([usage.input, usage.cacheRead])
  const most = row.basis === 'estimated' ? Math.ceil(textOf(call).length / BYTES_PER_TOKEN) : usage.output
  if (row.outcome === 'complete') expect(row.outputTokens).toBe(usage.output)
  else expect([row.outcome, row.outputTokens <= most]).toEqual(['recovered', true])
}

function rowsOf(path: string): { all: readonly Receipt[]; held: number } {
  const db = openDatabase(path, 'read')
  if ('problem' in db) throw new Error(db.message)
  const all = receiptsIn(db)
  const held = drizzle(db).select().from(marks).all().length
  db.close()
  return { all, held }
}
