/**
 * `bun run bench migration [--receipts N] [--postgres]`: how long a ledger of the oldest release with N receipts takes to this program's version, by step; default: a
 * million receipts in a file. The gateway answers nothing meanwhile, so this is how long paid requests wait.
 */

import { Database } from 'bun:sqlite'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openDatabase } from '../db/open.ts'
import { migrate } from '../src/ledger/postgres/migrate.ts'
import type { Connection } from '../src/ledger/sql/connection.ts'
import { migrateFile } from '../src/ledger/sqlite/migrate.ts'
import type { TellMigration } from '../src/ledger/thread-messages.ts'
import { postgres } from '../test/support/postgres.ts'
import { connectPostgres } from '../test/support/postgres-connection.ts'
import { RELEASES, releasedDatabase, releasedFile } from '../test/support/released.ts'

const { values } = parseArgs({
  options: { receipts: { type: 'string', default: '1000000' }, postgres: { type: 'boolean', default: false } },
})
const receipts = Number(values.receipts)
const [oldest = ['0.1.0', 2]] = RELEASES

/** One in each hour of sixty days up to now, in turn, so that sums of the running month are made of many. */
const HOURS = 1_440
const startedAt = `(${Date.now() - 60_000} - (n % ${HOURS}) * CAST(3600000 AS BIGINT))`

/** What differs from the receipt that all are copies of. */
const OWN: Readonly<Record<string, string>> = {
  ...{ number: '1000 + n', request_id: "'req_' || n", seq: '1000000 + n' },
  ...{ started_at: startedAt, settled_at: `${startedAt} + 812`, day: `(${startedAt} + 812) / 86400000` },
}
const copies = (columns: readonly string[], source: string): string =>
  `INSERT INTO receipts (${columns.join(', ')}) SELECT ${columns.map((name) => OWN[name] ?? `r.${name}`).join(', ')} FROM (SELECT * FROM receipts ORDER BY number LIMIT 1) AS r CROSS JOIN ${source}`

/** Prints each step with the time since the one before. */
function steps(): TellMigration {
  let before = performance.now()
  return ({ notice, fields }) => {
    const now = performance.now()
    console.log(`${((now - before) / 1_000).toFixed(2).padStart(8)} s  ${notice} ${JSON.stringify(fields)}`)
    before = now
  }
}

function inFile(): number {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  const path = releasedFile(oldest[0], join(folder, 'ledger.db'))
  try {
    fill(path)
    console.log(`${receipts} receipts, ${(statSync(path).size / 1e6).toFixed(0)} MB`)
    const began = performance.now()
    const db = openDatabase(path, 'write', { migrate: (open) => migrateFile(open, path, { tell: steps(), now: Date.now() }) })
    if ('problem' in db) throw new Error(db.message)
    const took = performance.now() - began
    db.close()
    return took
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Without the triggers, which are made again as they were. */
function fill(path: string): void {
  const db = new Database(path)
  db.run('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF')
  const triggers = db
    .query<{ name: string; sql: string }, []>("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'receipts'")
    .all()
  for (const { name } of triggers) db.run(`DROP TRIGGER ${name}`)
  const columns = db.query<{ name: string }, []>("SELECT name FROM pragma_table_info('receipts')").all()
  db.run(
    copies(
      columns.map(({ name }) => name),
      `(WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ${receipts}) SELECT n FROM c)`,
    ),
  )
  for (const { sql } of triggers) db.run(sql)
  db.run('PRAGMA journal_mode = WAL')
  db.close()
}

async function onPostgres(): Promise<number> {
  const url = await releasedDatabase(oldest[0])
  const admin: Connection = connectPostgres(postgres().asSuperuser(url), { timeoutMs: 3_600_000 })
  admin.run('SET session_replication_role = replica; SET search_path = ledger; SET statement_timeout = 0')
  const columns = admin
    .query<{ name: string }, []>(
      "SELECT column_name AS name FROM information_schema.columns WHERE table_schema = 'ledger' AND table_name = 'receipts'",
    )
    .all()
  admin.run(
    copies(
      columns.map(({ name }) => name),
      `generate_series(1, ${receipts}) AS n`,
    ),
  )
  admin.close()
  const began = performance.now()
  const db: Connection = connectPostgres(url, { timeoutMs: 3_600_000, lockMs: 250 })
  const problem = migrate(db, url, { tell: steps() })
  db.close()
  if (problem !== undefined) throw new Error(problem.message)
  return performance.now() - began
}

const took = values.postgres ? await onPostgres() : inFile()
console.log(`${(took / 1_000).toFixed(1)} s in all`)
process.exit(0)
