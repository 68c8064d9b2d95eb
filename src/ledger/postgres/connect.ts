/** Connections to the database of a place, and what it is called when it cannot be asked. Rules: ledger.md "Two stores". */

import { openPostgres } from '../../../db/postgres/open.ts'
import type { DatabaseProblem } from '../../../db/problem.ts'
import { type PostgresPlace, placeText } from '../place.ts'
import type { Connection } from '../sql/connection.ts'
import { PostgresConnection, type PostgresOptions } from './connection.ts'
import { isStorageFailure } from './storage-failure.ts'

/** `startSyncDriver` makes a Worker of `src/ledger/postgres/sync-driver.ts`. */
export type Connectable = PostgresPlace & Readonly<{ startSyncDriver: () => Worker }>

/** Of one statement. A report may look at millions of rows; a settle must not wait that long. */
const STATEMENT_MS = { read: 30_000, write: 5_000 } as const

/** `what`: for pg_stat_activity. */
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

/** A connection that cannot write. Its ledger is looked at before anything is asked of it. `isNode`: for a node that lives. */
export function openForReading(place: Connectable & Readonly<{ statementMs?: number }>, isNode: boolean): Connection | DatabaseProblem {
  const db = connectTo(place, 'read', 'reads', { timeoutMs: place.statementMs })
  const problem = whileAsking(place, () => openPostgres(db, placeText(place), 'read', { isNode }))
  if (problem === undefined) return db
  db.close()
  return problem
}

/** The result of `ask`, or why Postgres could not be asked. */
export function whileAsking<T>(place: PostgresPlace, ask: () => T): T | DatabaseProblem {
  try {
    return ask()
  } catch (error) {
    return readProblem(error, place)
  }
}

/** Bugs are thrown on. */
export function readProblem(error: unknown, place: PostgresPlace): DatabaseProblem {
  if (!isStorageFailure(error)) throw error
  return { problem: 'unwritable', message: `${placeText(place)} cannot be opened (${error.message})` }
}
