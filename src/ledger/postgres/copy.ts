/**
 * A ledger in a file becomes one on Postgres: every row with its number, and the chains as those of lane 0. What the two hold is counted and added up on both sides.
 * Rules: ledger.md "Copy".
 */

import type { Connection } from '../connection.ts'
import type { Difference } from '../difference.ts'
import { PostgresArray } from './values.ts'

type Kind = 'BIGINT' | 'TEXT' | 'BYTEA'
type Column = Readonly<{ name: string; kind: Kind }>
type Value = bigint | string | Uint8Array | null

/** In an order in which each row finds what it names. */
const TABLES = [
  'boots',
  'accounts',
  'keys',
  'key_secrets',
  'models',
  'price_versions',
  'upstreams',
  'receipts',
  'attempts',
  'credits',
  'code_batches',
  'codes',
  'usage_daily',
  'idempotency',
  'audit_log',
] as const
type Table = (typeof TABLES)[number]

/** What a file keeps in the account's row is a row of its own on Postgres. */
const NOT_COPIED: Partial<Record<Table, readonly string[]>> = { accounts: ['chain_count', 'chain_hash'] }
const NUMBERED: Partial<Record<Table, string>> = {
  boots: 'number',
  accounts: 'number',
  keys: 'number',
  models: 'number',
  price_versions: 'number',
  upstreams: 'number',
  receipts: 'number',
  code_batches: 'number',
}
const KINDS: Readonly<Record<string, Kind>> = { INTEGER: 'BIGINT', TEXT: 'TEXT', BLOB: 'BYTEA' }
const ROWS_TOGETHER = 4_000

/** Rows a table. `from`: a ledger without a request in flight; `to`: the tables of a new one, inside of the transaction that makes it. */
export function copyLedger(from: Connection, to: Connection): ReadonlyMap<string, number> {
  const copied = new Map<string, number>()
  for (const table of TABLES) {
    copied.set(table, copyTable(from, to, table))
    const number = NUMBERED[table]
    if (number !== undefined) setSequence(to, table, number)
  }
  const salt = from.query<{ value: string }, []>("SELECT value FROM meta WHERE name = 'salt'").get()?.value
  to.query("UPDATE meta SET value = ? WHERE name = 'salt'").run(salt ?? '')
  insert(to, 'chain_heads', HEAD_COLUMNS, rowsOf(from, 'chain_heads', HEAD_COLUMNS))
  return copied
}

const HEAD_COLUMNS: readonly Column[] = [
  { name: 'account_number', kind: 'BIGINT' },
  { name: 'lane', kind: 'BIGINT' },
  { name: 'chain_count', kind: 'BIGINT' },
  { name: 'chain_hash', kind: 'BYTEA' },
]

/** What the two do not hold alike. */
export const copyFindings = (from: Connection, to: Connection): readonly Difference[] =>
  TABLES.flatMap((table) => {
    const columns = columnsOf(from, table)
    const [stored, recomputed] = [to, from].map((db) => totalsOf(db, table, columns))
    return stored === recomputed
      ? []
      : [{ rule: 'a copy holds what its ledger holds', subject: table, stored: stored ?? '', recomputed: recomputed ?? '' }]
  })

/** Rows, and of each column how many are not null and what they add up to, in two limbs; texts and blobs by their length. */
function totalsOf(db: Connection, table: Table, columns: readonly Column[]): string {
  const sumOf = (what: string): string => `coalesce(CAST(sum(${what}) AS BIGINT), 0)`
  const totals = columns.flatMap(({ name, kind }) => [
    `count("${name}")`,
    ...(kind === 'BIGINT' ? [sumOf(`"${name}" / 1000000`), sumOf(`"${name}" % 1000000`)] : [sumOf(`length("${name}")`)]),
  ])
  return db
    .query<never, []>(`SELECT count(*), ${totals.join(', ')} FROM ${table}`)
    .values()
    .join()
}

function columnsOf(from: Connection, table: Table): readonly Column[] {
  const without = NOT_COPIED[table] ?? []
  return from
    .query<{ name: string; type: string }, [string]>('SELECT name, type FROM pragma_table_info(?) ORDER BY cid')
    .all(table)
    .filter(({ name }) => !without.includes(name))
    .map(({ name, type }) => ({ name, kind: KINDS[type] ?? 'TEXT' }))
}

function copyTable(from: Connection, to: Connection, table: Table): number {
  const columns = columnsOf(from, table)
  return insert(to, table, columns, rowsOf(from, table, columns))
}

const rowsOf = (from: Connection, table: string, columns: readonly Column[]): Iterable<Record<string, Value>> =>
  from.query<Record<string, Value>, []>(`SELECT ${columns.map(({ name }) => `"${name}"`).join(', ')} FROM ${table}`).iterate()

/** Columns go as arrays, so many rows at a time. */
function insert(to: Connection, table: string, columns: readonly Column[], rows: Iterable<Record<string, Value>>): number {
  const names = columns.map(({ name }) => `"${name}"`).join(', ')
  const arrays = columns.map(({ kind }, index) => `?${index + 1}::${kind}[]`).join(', ')
  const statement = to.prepare<unknown, never[]>(`INSERT INTO ${table} (${names}) SELECT * FROM unnest(${arrays})`)
  let count = 0
  let values: Value[][] = columns.map(() => [])
  const flush = (): void => {
    statement.run(...columns.map(({ kind }, index) => new PostgresArray(values[index] ?? [], kind) as never))
    values = columns.map(() => [])
  }
  for (const row of rows) {
    columns.forEach(({ name }, index) => {
      values[index]?.push(row[name] ?? null)
    })
    if (++count % ROWS_TOGETHER === 0) flush()
  }
  if (count % ROWS_TOGETHER !== 0) flush()
  return count
}

function setSequence(to: Connection, table: Table, column: string): void {
  to.query(
    `SELECT setval(pg_get_serial_sequence('${table}', '${column}'), last) FROM (SELECT max("${column}") AS last FROM ${table}) m WHERE last IS NOT NULL`,
  ).all()
}
