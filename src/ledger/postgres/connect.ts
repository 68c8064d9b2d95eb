/** Connections to the database of a place, and the problem to report when the database cannot be asked. Rules: ledger.md "Two stores". */

import { openPostgres } from '../../../db/postgres/open.ts'
import type { DatabaseProblem } from '../../../db/problem.ts'
import { type PostgresPlace, placeText } from '../place.ts'
import type { Connection } from '../sql/connection.ts'
import { PostgresConnection, type PostgresOptions } from './connection.ts'
import { isStorageFailure } from './storage-failure.ts'

/** `startSyncDriver` makes a Worker of `src/ledger/postgres/sync-driver.ts`. */
export type Connectable = PostgresPlace & Readonly<{ startSyncDriver: () => Worker }>

/** The limit of one statement. A report may look at millions of rows; a settle must not wait that long. */
const STATEMENT_MS = { read: 30_000, write: 5_000 } as const

/** `what`: the purpose of the connection, for pg_stat_activity. */
export const connectTo = (
  { url, node, startSyncDriver }: Connectable,
  access: 'read' | 'write',
  what: string,
  {
    timeoutMs = STATEMENT_MS[access],
    lockMs = timeoutMs,
    ...more
  }: Readonly<{ timeoutMs?: number | undefined; lockMs?: number }> & Pick<PostgresOptions, 'onWait'> = {},
): PostgresConnection =>
  new PostgresConnection({ ...more, url, access, startSyncDriver, timeoutMs, lockMs, name: `tollgate ${node} ${what}` })

/** A connection that cannot write. The database is checked to be a ledger before anything is asked of it. `isNode`: the connection is for a running node. */
export function openForReading(place: Connectable & Readonly<{ statementMs?: number }>, isNode: boolean): Connection | DatabaseProblem {
  const db = connectTo(place, 'read', 'reads', { timeoutMs: place.statementMs })
  const problem = whileAsking(place, () => openPostgres(db, placeText(place), 'read', { isNode }))
  if (problem === undefined) return db
  db.close()
  return problem
}

/** Returns the result of `ask`, or why Postgres could not be asked. */
export function whileAsking<T>(place: PostgresPlace, ask: () => T): T | DatabaseProblem {
  try {
    return ask()
  } catch (error) {
    return readProblem(error, place)
  }
}

/** The problem behind an error of Postgres; any other error is a bug and is thrown on. */
export function readProblem(error: unknown, place: PostgresPlace): DatabaseProblem {
  if (!isStorageFailure(error)) throw error
  return { problem: 'unwritable', message: `${placeText(place)} cannot be opened (${error.message})` }
}
