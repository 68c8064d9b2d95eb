/**
 * The record of the key that signs the statements of a ledger on Postgres. Every node that starts with a key records its public half in `meta`, and so does a command before
 * it prints a statement. Once a key is recorded, a node without a key does not start: nobody could tell its statements from those of a stranger. Rules: ledger.md "Statements".
 */

import type { DatabaseProblem } from '../../../db/problem.ts'
import { statementKeyAt } from '../chain/statement-key.ts'
import { type PostgresPlace, placeText } from '../place.ts'
import type { Connection } from '../sql/connection.ts'
import { PostgresConnection } from './connection.ts'

/** Records the place's key, if it has one; it may replace another. A place without a key is a problem if a key is recorded. `db`: a connection that may write. */
export function takeSigningKey(db: Connection, place: PostgresPlace): DatabaseProblem | undefined {
  const key = statementKeyAt(place)
  if (key !== undefined) recordSigningKey(db, key.publicKey)
  const recorded = db.query<{ value: string }, []>(`SELECT value FROM meta WHERE name = '${NAME}'`).get()?.value
  if (key !== undefined || recorded === undefined) return undefined
  const message = `${placeText(place)}: its statements are signed by the key ${recorded}, and ledger.statement_key_env names none`
  return { problem: 'unwritable', message }
}

const NAME = 'statement_key'

export function recordSigningKey(db: Connection, publicKey: string): void {
  db.query<unknown, [string]>(
    `INSERT INTO meta (name, value) VALUES ('${NAME}', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE meta.value <> excluded.value`,
  ).run(publicKey)
}

/** Records the key for a command that signs, on a connection of its own. Throws what the connection throws. */
export function recordSigningKeyAt(place: PostgresPlace & Readonly<{ startSyncDriver: () => Worker }>): void {
  const db = new PostgresConnection({
    url: place.url,
    access: 'write',
    startSyncDriver: place.startSyncDriver,
    timeoutMs: RECORD_MS,
    name: `tollgate ${place.node}`,
  })
  try {
    takeSigningKey(db, place)
  } finally {
    db.close()
  }
}

const RECORD_MS = 10_000
