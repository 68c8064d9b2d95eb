/**
 * A start does not take longer because a ledger has grown, after an end in order or a kill: what has to be looked at as a whole is looked at behind it.
 * `START_RECEIPTS` sets how many there are. Rules: ledger.md "A file left open".
 */

import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { keepBooks } from './book-keeper.ts'
import { configurationOf, UPSTREAM_ENV } from './configuration.ts'
import { askIn } from './load.ts'
import { type GatewayProcess, Place, PROCESS_TIMEOUT_MS } from './process.ts'

const RECEIPTS = Number(process.env['START_RECEIPTS'] ?? 100_000)
setDefaultTimeout(6 * PROCESS_TIMEOUT_MS + RECEIPTS / 10)

let place: Place
let books: ReturnType<typeof keepBooks>
beforeEach(() => {
  place = new Place()
  books = keepBooks()
  place.write('tollgate.toml', configurationOf({ upstreamUrl: books.url }))
})
afterEach(async () => {
  await place.remove()
  await books.stop()
})

/** Milliseconds from the start of the process to its first paid answer. */
async function startAndAsk(key: string): Promise<{ gateway: GatewayProcess; tookMs: number }> {
  const began = performance.now()
  const gateway = await place.serve({ env: UPSTREAM_ENV })
  expect(await askIn('messages', gateway.url, key)).toBeDefined()
  return { gateway, tookMs: performance.now() - began }
}

async function end(gateway: GatewayProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  gateway.signal(signal)
  await gateway.exited
}

/** Copies of the one receipt, under ids and places of their own: a start believes the sums, `verify` would not. */
function grow(path: string): void {
  const db = new Database(path)
  const columns = db
    .query<{ name: string }, []>("SELECT name FROM pragma_table_info('receipts')")
    .all()
    .map(({ name }) => name)
  const own: Record<string, string> = { number: 'NULL', request_id: "'req_' || printf('%032x', n)", seq: 'seq + n' }
  const chosen = columns.map((name) => own[name] ?? name).join(', ')
  db.run(`WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ${RECEIPTS})
    INSERT INTO receipts (${columns.join(', ')}) SELECT ${chosen} FROM (SELECT * FROM receipts LIMIT 1), counted`)
  db.close()
}

test(`with ${RECEIPTS} receipts a start costs as much as with one`, async () => {
  const first = await place.serve({ env: UPSTREAM_ENV })
  const { key } = await place.createKey()
  expect(await askIn('messages', first.url, key)).toBeDefined()
  await end(first, 'SIGTERM')
  const small = await startAndAsk(key)
  await end(small.gateway, 'SIGTERM')
  grow(place.ledgerPath)
  for (const how of ['SIGKILL', 'SIGTERM'] as const) {
    // What a busy machine adds is not in all of them; what the receipts cost would be.
    const took: number[] = []
    for (let starts = 0; starts < 5 && Math.min(...took) >= small.tookMs * 2 + 500; starts++) {
      const { gateway, tookMs } = await startAndAsk(key)
      took.push(tookMs)
      await end(gateway, how)
    }
    expect([how, Math.min(...took) < small.tookMs * 2 + 500], `${took} ms, ${small.tookMs} ms before`).toEqual([how, true])
  }
  const { gateway } = await startAndAsk(key)
  expect((await fetch(`${gateway.operatorUrl}/readyz`)).status).toBe(200)
})
