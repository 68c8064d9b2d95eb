/**
 * The versions of the ledger's tables on Postgres, embedded in the binary. A database says its version in `meta`, and by `application` there that it is ours.
 * Rules: ledger.md "Two stores".
 */

import init from './migrations/0001_init.sql' with { type: 'text' }
import leases from './migrations/leases.sql' with { type: 'text' }
import limits from './migrations/limits.sql' with { type: 'text' }
import nodes from './migrations/nodes.sql' with { type: 'text' }
import settle from './migrations/settle.sql' with { type: 'text' }

/** As much of a synchronous connection as is needed here: integers come as bigints. */
export type Runs = Readonly<{
  run(text: string): unknown
  query<Row, _Given extends []>(text: string): { get(): Row | null }
  transaction<T>(work: () => T): () => T
}>

/** In order. The first makes version 2, as on SQLite. */
const MIGRATIONS: readonly string[] = [[init, nodes, leases, limits, settle].join('\n')]
export const MIGRATIONS_TEXT = MIGRATIONS.join('\n')
const OLDEST_VERSION = 2
export const SCHEMA_VERSION = OLDEST_VERSION + MIGRATIONS.length - 1
/** "toll" in ASCII: of the advisory lock under which one process at a time migrates. */
const LOCK = 0x746f6c6c

/** `version` of a ledger; `none`: there is nothing in the schema; `foreign`: something that is not ours. */
type Found = Readonly<{ kind: 'ledger'; version: number }> | Readonly<{ kind: 'none' }> | Readonly<{ kind: 'foreign' }>

export function findLedger(db: Runs): Found {
  const tables = db
    .query<{ count: bigint; meta: bigint }, []>(
      `SELECT count(*) AS count, count(*) FILTER (WHERE relname = 'meta' AND relkind = 'r') AS meta
       FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'ledger') AND relkind IN ('r', 'v', 'p', 'm', 'f')`,
    )
    .get()
  if (tables === null || tables.count === 0n) return { kind: 'none' }
  if (tables.meta === 0n || metaValue(db, 'application') !== 'tollgate') return { kind: 'foreign' }
  return { kind: 'ledger', version: Number(metaValue(db, 'schema')) }
}

/** A foreign table of that name may have other columns: as text of a whole row, which any has. */
const metaValue = (db: Runs, name: 'application' | 'schema'): string | undefined =>
  db
    .query<{ value: string | null }, []>(
      `SELECT to_jsonb(m) ->> 'value' AS value FROM ledger.meta m WHERE to_jsonb(m) ->> 'name' = '${name}'`,
    )
    .get()?.value ?? undefined

/** Brings a database to the newest version, all or nothing; others who do the same wait for it, and find it done. What is foreign or newer stays as it is. */
export function migrate(db: Runs): void {
  db.transaction(() => {
    db.query<unknown, []>(`SELECT pg_advisory_xact_lock(${LOCK})`).get()
    const found = findLedger(db)
    if (found.kind === 'foreign') return
    const from = found.kind === 'none' ? 0 : found.version - OLDEST_VERSION + 1
    if (from < 0 || from >= MIGRATIONS.length) return
    if (db.query<unknown, []>("SELECT 1 AS one FROM pg_namespace WHERE nspname = 'ledger'").get() === null) db.run('CREATE SCHEMA ledger')
    for (const migration of MIGRATIONS.slice(from)) db.run(`SET LOCAL search_path = ledger; SET LOCAL statement_timeout = 0; ${migration}`)
    db.run(`UPDATE ledger.meta SET value = '${SCHEMA_VERSION}' WHERE name = 'schema'`)
  })()
}
