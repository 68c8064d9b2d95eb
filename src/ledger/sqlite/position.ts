/** Which ledger a file is, and how many rows it has that a later start must find again. Rules: ledger.md "A ledger that vanishes". */

import type { Database } from 'bun:sqlite'

/**
 * `ledger`: the id that was made with the file; copies keep it. `rows`: receipts and lines of the audit log. Every flushed commit that
 * changes something adds such rows, and nothing removes any. Their numbers tell how many there are; counting commits would cost every commit a statement and a page.
 */
export type Position = Readonly<{ ledger: string; rows: number }>

const POSITION = `SELECT (SELECT value FROM meta WHERE name = 'node') AS ledger,
  (SELECT coalesce(max(number), 0) FROM receipts) + (SELECT coalesce(max(id), 0) FROM audit_log) AS rows`

export function positionOf(db: Database): Position {
  const found = db.query<{ ledger: string | null; rows: bigint }, []>(POSITION).get()
  return { ledger: found?.ledger ?? '', rows: Number(found?.rows ?? 0) }
}
