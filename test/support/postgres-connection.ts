/** Synchronous connections to a Postgres of the tests, and ledgers on it. */

import { openPostgres } from '../../db/postgres/open.ts'
import { PostgresConnection, type PostgresOptions } from '../../src/ledger/postgres/connection.ts'
import type { Connection } from '../../src/ledger/sql/connection.ts'
import { postgres } from './postgres.ts'

export const startSyncDriver = (): Worker => new Worker(new URL('../../src/ledger/postgres/sync-driver.ts', import.meta.url))

export function connectPostgres(url: string, options: Partial<PostgresOptions> = {}): PostgresConnection {
  return new PostgresConnection({ access: 'write', startSyncDriver, timeoutMs: 5_000, name: 'tollgate test', ...options, url })
}

let empty: Promise<string> | undefined

/** The address of a new and empty ledger: a copy of one, since making the tables takes longer. */
export async function createPostgresLedger(): Promise<string> {
  empty ??= makeLedger()
  return postgres().createDatabase(await empty)
}

async function makeLedger(): Promise<string> {
  const url = await postgres().createDatabase()
  const db: Connection = connectPostgres(url)
  const problem = openPostgres(db, 'the tests', 'create')
  db.close()
  if (problem !== undefined) throw new Error(problem.message)
  await postgres().untilNobodyIsConnected(url)
  return url
}
