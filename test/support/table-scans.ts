/** How often tables of a ledger on Postgres were read from end to end. */

import type { Connection } from '../../src/ledger/sql/connection.ts'

const TOLD_AT_ONCE_VERSION_MIN = 15

/** Of each of these tables so far, what this connection did included. */
export function tableScans(db: Connection, tables: readonly string[]): readonly unknown[] {
  const version = db.query<{ version: string }, []>("SELECT current_setting('server_version') AS version").get()?.version ?? ''
  // Told with the end of a statement; before Postgres 15 half a second after the last time at the earliest, and then read from what may be half a second old.
  const tells = Number.parseInt(version, 10) < TOLD_AT_ONCE_VERSION_MIN ? 'pg_sleep(0.6)' : 'pg_stat_force_next_flush()'
  for (let time = 0; time < 2; time++) db.query(`SELECT CAST(${tells} AS TEXT) AS told`).get()
  const names = tables.map((name) => `'${name}'`).join(', ')
  return db.query(`SELECT relname, seq_scan FROM pg_stat_user_tables WHERE relname IN (${names}) ORDER BY relname`).all()
}
