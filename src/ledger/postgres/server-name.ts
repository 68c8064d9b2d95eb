/** The server's name: its system identifier and its timeline. It is another after a failover, and after a backup was restored. Rules: nodes.md "After a failover". */

import type { Connection } from '../sql/connection.ts'
import { PostgresError } from './storage-failure.ts'

/** The timeline comes from the log, which has the new one at once after a promotion; the control file has it only after the next checkpoint. */
export const SERVER_NAME = `SELECT (SELECT system_identifier FROM pg_control_system()) || ' timeline '
  || CAST(CAST('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8) AS BIT(32)) AS INTEGER) AS name`

/** No privilege, no such function, not supported: some managed services do not tell the name. */
const NOT_SAID = new Set(['42501', '42883', '0A000'])
export const isNotSaid = (sqlState: string): boolean => NOT_SAID.has(sqlState)

/** To be called outside a transaction. Empty: the server does not tell its name. Throws what Postgres says if it cannot be asked. */
export function serverNameOf(db: Connection): string {
  try {
    return db.query<{ name: string }, []>(SERVER_NAME).get()?.name ?? ''
  } catch (error) {
    if (error instanceof PostgresError && isNotSaid(error.sqlState)) return ''
    throw error
  }
}

/** A name that is unknown is not another name. */
export const isOtherServer = (before: string, now: string): boolean => before !== '' && now !== '' && before !== now

const NOTED = 'server'

/** The name of the server on which the ledger was last written, as the rows have it. */
export const notedServer = (db: Connection): string =>
  db.query<{ value: string }, []>(`SELECT value FROM meta WHERE name = '${NOTED}'`).get()?.value ?? ''

export function noteServer(db: Connection, name: string): void {
  if (name === '') return
  db.query<unknown, [string]>(
    `INSERT INTO meta (name, value) VALUES ('${NOTED}', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE meta.value <> excluded.value`,
  ).run(name)
}
