/**
 * Which key signs the statements of a ledger on Postgres: its public half is recorded in `meta` by every node that starts with one, and before a command prints a
 * statement. Once a key is recorded, a node without one does not start: its statements could not be told from those that a stranger signed. Rules: ledger.md "Statements".
 */

import type { DatabaseProblem } from '../../../db/problem.ts'
import { statementKeyAt } from '../chain/statement-key.ts'
import { type PostgresPlace, placeText } from '../place.ts'
import type { Connection } from '../sql/connection.ts'
import { PostgresConnection } from './connection.ts'

/** `db`: a connection that may write. Another key may take the place of the one before. */
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

/** For a command that signs, on a connection of its own. Throws what the connection throws. */
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
