/** Copies tables of a SQLite file into tables of Postgres that have the same names and columns, and compares the two. Rules: ledger.md "Copy". */

import type { Difference } from '../chain/difference.ts'
import type { Connection } from '../sql/connection.ts'
import { PostgresArray } from './values.ts'

type Kind = 'BIGINT' | 'TEXT' | 'BYTEA'
type Column = Readonly<{ name: string; kind: Kind }>
type Value = bigint | string | Uint8Array | null

/** `schema`: the one on Postgres. `numbered`: the column whose numbers Postgres gives by itself. `without`: columns that are not copied. */
export type CopiedTable = Readonly<{ schema: string; name: string; numbered?: string; without?: readonly string[] }>

const KINDS: Readonly<Record<string, Kind>> = { INTEGER: 'BIGINT', TEXT: 'TEXT', BLOB: 'BYTEA' }
const ROWS_TOGETHER = 4_000

/** Returns how many rows were copied. `from`: a connection that gives integers as bigints. */
export function copyTable(from: Connection, to: Connection, table: CopiedTable): number {
  const { schema, name, numbered } = table
  const place = `${schema}.${name}`
  const columns = columnsOf(from, table)
  const listed = columns.map((column) => `"${column.name}"`).join(', ')
  const rows = from.query<Record<string, Value>, []>(`SELECT ${listed} FROM ${name}`).iterate()
  const count = insertAll(to, place, columns, rows)
  if (numbered !== undefined) {
    to.query(
      `SELECT setval(pg_get_serial_sequence('${place}', '${numbered}'), last) FROM (SELECT max("${numbered}") AS last FROM ${place}) m WHERE last IS NOT NULL`,
    ).all()
  }
  return count
}

/** The differences between the table in the file and the one on Postgres. */
export function tableFindings(from: Connection, to: Connection, table: CopiedTable): readonly Difference[] {
  const columns = columnsOf(from, table)
  const [stored, recomputed] = [totalsOf(to, `${table.schema}.${table.name}`, columns), totalsOf(from, table.name, columns)]
  return stored === recomputed ? [] : [{ rule: 'a copy holds what its ledger holds', subject: table.name, stored, recomputed }]
}

/** The count of rows, and for each column the count and the sum of its values that are not null. High and low digits are summed apart; texts and blobs count by length. */
function totalsOf(db: Connection, place: string, columns: readonly Column[]): string {
  const sumOf = (what: string): string => `coalesce(CAST(sum(${what}) AS BIGINT), 0)`
  const totals = columns.flatMap(({ name, kind }) => [
    `count("${name}")`,
    ...(kind === 'BIGINT' ? [sumOf(`"${name}" / 1000000`), sumOf(`"${name}" % 1000000`)] : [sumOf(`length("${name}")`)]),
  ])
  return db
    .query<never, []>(`SELECT count(*), ${totals.join(', ')} FROM ${place}`)
    .values()
    .join()
}

function columnsOf(from: Connection, { name: table, without = [] }: CopiedTable): readonly Column[] {
  return from
    .query<{ name: string; type: string }, [string]>('SELECT name, type FROM pragma_table_info(?) ORDER BY cid')
    .all(table)
    .filter(({ name }) => !without.includes(name))
    .map(({ name, type }) => ({ name, kind: KINDS[type] ?? 'TEXT' }))
}

/** Inserts the rows in batches; each column of a batch goes as one array. */
function insertAll(to: Connection, place: string, columns: readonly Column[], rows: Iterable<Record<string, Value>>): number {
  const names = columns.map(({ name }) => `"${name}"`).join(', ')
  const arrays = columns.map(({ kind }, index) => `?${index + 1}::${kind}[]`).join(', ')
  const statement = to.prepare<unknown, never[]>(`INSERT INTO ${place} (${names}) SELECT * FROM unnest(${arrays})`)
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
