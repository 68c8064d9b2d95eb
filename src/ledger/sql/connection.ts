/**
 * A connection to the ledger's database as a thread of the ledger sees it: synchronous for either store. A connection of bun:sqlite fits as it is; the one to Postgres waits
 * for its answers (postgres/connection.ts). Placeholders are SQLite's (`?`, `?1`, `$name` with an object). Integers come as bigints, blobs as Buffers or
 * Uint8Arrays. Rules: ledger.md "Two stores".
 */

import type { Database, SQLQueryBindings, Statement as SqliteStatement } from 'bun:sqlite'
import { drizzle } from 'drizzle-orm/bun-sqlite'

/** A column's value as it is given to a statement. */
export type Value = string | number | bigint | Uint8Array | null

type Bindings = SQLQueryBindings | SQLQueryBindings[]

// biome-ignore lint/suspicious/noExplicitAny: bun:sqlite's own type, letter for letter, or its Database would not fit
type Given<B extends Bindings> = B extends any[] ? B : [B]

type Statement<Row = unknown, P extends SQLQueryBindings[] = SQLQueryBindings[]> = Pick<
  SqliteStatement<Row, P>,
  'all' | 'get' | 'iterate' | 'run' | 'values'
>

/** Throws what the database says; each store's storage-failure.ts tells a fault of the storage from a broken rule. */
export interface Connection {
  /** Prepares a statement; the same text gives the same statement. */
  query<Row, B extends Bindings>(text: string): Statement<Row, Given<B>>
  prepare<Row, B extends Bindings>(text: string): Statement<Row, Given<B>>
  run(text: string): unknown
  /** Runs `work` in one transaction; inside another transaction it becomes a savepoint of that. */
  transaction<T>(work: () => T): () => T
  close(): void
}

/** Drizzle over the connection; the SQL of its statements is common to both stores. */
export const ormOf = (connection: Connection) => drizzle(connection as Database)

/**
 * A statement that gives integers as numbers, those beyond 53 bits as the nearest one. Undefined: on Postgres, where rows come over a socket, so that what can be added up there
 * is not read row by row. The text must be no other statement's.
 */
export function numbersOf<Row, B extends Bindings>(connection: Connection, text: string): Statement<Row, Given<B>> | undefined {
  const statement = connection.query<Row, B>(text)
  if (!('safeIntegers' in statement)) return undefined
  ;(statement as unknown as SqliteStatement).safeIntegers(false)
  return statement
}
