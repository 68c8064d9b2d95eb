/**
 * The versions of the ledger's tables on Postgres, embedded in the binary. A database has its version in `meta`, and there also `application`, which marks it as ours.
 * Rules: ledger.md "Two stores", "Migrations".
 */

import { type Migration, newestOf } from '../../src/core/migration.ts'
import init from './migrations/0002_init.sql' with { type: 'text' }
import leases from './migrations/0002_leases.sql' with { type: 'text' }
import limits from './migrations/0002_limits.sql' with { type: 'text' }
import nodes from './migrations/0002_nodes.sql' with { type: 'text' }
import settle from './migrations/0002_settle.sql' with { type: 'text' }
import bootsSchema from './migrations/0003_boots_schema.sql' with { type: 'text' }
import nodeFacts from './migrations/0004_node_facts.sql' with { type: 'text' }
import priceLevels from './migrations/0005_price_levels.sql' with { type: 'text' }
import costsTags from './migrations/0006_costs_tags.sql' with { type: 'text' }
import windowLeases from './migrations/0006_leases.sql' with { type: 'text' }
import rates from './migrations/0006_rates.sql' with { type: 'text' }
import windows from './migrations/0006_windows.sql' with { type: 'text' }
import imports from './migrations/0007_imports.sql' with { type: 'text' }
import operatorApi from './migrations/0007_operator_api.sql' with { type: 'text' }
import spendHours from './migrations/0008_spend_hours.sql' with { type: 'text' }

/** The steps in order, each with the number of the version that it makes. A file has versions of its own, because it has no nodes. */
export const MIGRATIONS: readonly Migration[] = [
  { version: 2, sql: [init, nodes, leases, limits, settle].join('\n') },
  { version: 3, sql: bootsSchema },
  { version: 4, sql: nodeFacts },
  { version: 5, sql: priceLevels },
  { version: 6, sql: [costsTags, rates, windows, windowLeases].join('\n') },
  { version: 7, sql: [operatorApi, imports].join('\n') },
  { version: 8, sql: spendHours },
]
export const MIGRATIONS_TEXT = MIGRATIONS.map(({ sql }) => sql).join('\n')
export const SCHEMA_VERSION = newestOf(MIGRATIONS)
/** "toll" in ASCII: the number of the advisory lock under which one process at a time makes or migrates a ledger. */
export const LOCK = 0x746f6c6c

/** The part of a synchronous connection that is needed here; integers come as bigints. */
export type Runs = Readonly<{
  run(text: string): unknown
  query<Row, _Given extends []>(text: string): { get(): Row | null }
  transaction<T>(work: () => T): () => T
}>

/** `ledger`: a ledger of this version. `none`: the schema is empty. `foreign`: the schema has something that is not ours. */
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

/** Reads the whole row as text, because a foreign table of that name may have other columns. */
const metaValue = (db: Runs, name: 'application' | 'schema'): string | undefined =>
  db
    .query<{ value: string | null }, []>(
      `SELECT to_jsonb(m) ->> 'value' AS value FROM ledger.meta m WHERE to_jsonb(m) ->> 'name' = '${name}'`,
    )
    .get()?.value ?? undefined

/** Makes a new ledger, all of it or nothing. Others that do the same wait, and find it made. What exists stays as it is. */
export function makeTables(db: Runs): void {
  db.transaction(() => {
    db.query<unknown, []>(`SELECT pg_advisory_xact_lock(${LOCK})`).get()
    if (findLedger(db).kind !== 'none') return
    if (db.query<unknown, []>("SELECT 1 AS one FROM pg_namespace WHERE nspname = 'ledger'").get() === null) db.run('CREATE SCHEMA ledger')
    for (const migration of MIGRATIONS) apply(db, migration)
  })()
}

/** Takes one step and sets the version that it makes, inside a transaction. A step may take any time. */
export function apply(db: Runs, step: Migration): void {
  db.run(`SET LOCAL search_path = ledger; SET LOCAL statement_timeout = 0; ${step.sql}`)
  db.run(`UPDATE ledger.meta SET value = '${step.version}' WHERE name = 'schema'`)
}
