/**
 * `kill -9` of a whole gateway under 200 streams and some whole answers, in all formats: whatever a client saw complete is in the ledger with the same figures, and the upstream's own books
 * agree. Rules: money.md "Settle", "Crashes". `KILL_ROUNDS` sets how often.
 */

import { expect, test } from 'bun:test'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { openDatabase } from '../../db/open.ts'
import { marks } from '../../db/schema/requests.ts'
import { type ReceiptRow, receiptsIn } from '../support/gateway.ts'
import { seeded } from '../support/seed.ts'
import { until } from '../support/until.ts'
import { type Call, keepBooks } from './book-keeper.ts'
import { configurationOf, UPSTREAM_ENV } from './configuration.ts'
import { type Answer, load, PROMPT, STREAMED_WAYS } from './load.ts'
import { callsWithout, expectOneStory } from './one-story.ts'
import { Place, PROCESS_TIMEOUT_MS } from './process.ts'

const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 2)
const STREAMS = 200
/** Clients that ask in every way by turns, beside the streams. */
const WIDTH = 24

type Receipt = ReceiptRow

test(
  'killed at any moment, no answer that a client saw whole is missing, no figure differs, nothing stays held',
  seeded(async (random) => {
    const place = new Place()
    // Most streams are in flight for more than a second, so that they leave a checkpoint.
    const books = keepBooks(({ isStream }) => Bun.sleep(random() * (isStream ? 500 : 20)))
    place.write('tollgate.toml', configurationOf({ upstreamUrl: books.url }))
    let gateway = await place.serve({ env: UPSTREAM_ENV })
    // The upstream's numbers, which are its tokens, grow with every call: a fast machine spends hundreds of dollars.
    const { key } = await place.createKey('--balance', '100000')
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
      await until(() => open() >= STREAMS)
      await Bun.sleep(1_400 + random() * 200)
      await until(() => open() >= STREAMS)
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
      expectOneStory(rowsOf(place.ledgerPath).all, seen, books.calls, lostCalls)
    }
    let turns = 0
    seen.push(...(await load(gateway.url, key, WIDTH, () => turns++ >= 2 * WIDTH)))
    gateway.signal('SIGTERM')
    expect(await gateway.exited).toEqual({ code: 0, signal: null })
    await place.verify()
    expectOneStory(rowsOf(place.ledgerPath).all, seen, books.calls, lostCalls)
    expect(seen.length).toBeGreaterThan(ROUNDS * WIDTH)
    expect(rowsOf(place.ledgerPath).all.some(({ outcome }) => outcome === 'recovered')).toBeTrue()
    expect(place.leaked([PROMPT, UPSTREAM_ENV.UPSTREAM_API_KEY, key.slice(3, -4)])).toEqual([])
    await books.stop()
    await place.remove()
  }),
  (ROUNDS + 2) * PROCESS_TIMEOUT_MS,
)

function rowsOf(path: string): { all: readonly Receipt[]; held: number } {
  const db = openDatabase(path, 'read')
  if ('problem' in db) throw new Error(db.message)
  const all = receiptsIn(db)
  const held = drizzle(db).select().from(marks).all().length
  db.close()
  return { all, held }
}
