/** Ledgers on Postgres for tests: an empty one, one that is a copy of a file, and what `verify` finds in one that was changed. */

import { makeTables } from '../../db/postgres/migrations.ts'
import type { Difference } from '../../src/ledger/chain/difference.ts'
import type { PostgresConnection } from '../../src/ledger/postgres/connection.ts'
import { copyLedger } from '../../src/ledger/postgres/copy.ts'
import { differencesInDatabase } from '../../src/ledger/postgres/verify.ts'
import type { Connection } from '../../src/ledger/sql/connection.ts'
import { postgres } from './postgres.ts'
import { connectPostgres } from './postgres-connection.ts'

export async function emptyLedger(): Promise<PostgresConnection> {
  const db = connectPostgres(await postgres().createDatabase(), { timeoutMs: 30_000 })
  makeTables(db)
  return db
}

/** Of a ledger in a file in which nothing is in flight. */
export async function copyOf(from: Connection): Promise<PostgresConnection> {
  const db = await emptyLedger()
  db.transaction(() => copyLedger(from, db))()
  return db
}

/** The rules that are broken after what was done; the ledger stays as it is. */
export function whatIsNamed(db: Connection, change: () => void): readonly string[] {
  let rules: readonly string[] = []
  const undone = new Error('undone')
  try {
    db.transaction(() => {
      change()
      rules = differencesInDatabase(db).map(({ rule }) => rule)
      throw undone
    })()
  } catch (error) {
    if (error !== undone) throw error
  }
  return rules
}

/** What `verify` finds at an address. */
export function differencesIn(url: string): readonly Difference[] {
  const db = connectPostgres(url)
  try {
    return differencesInDatabase(db)
  } finally {
    db.close()
  }
}
