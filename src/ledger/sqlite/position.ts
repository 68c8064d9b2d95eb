/** Which ledger a file is, and how much stands in it that a later start must find again. Rules: ledger.md "A ledger that vanishes". */

import type { Database } from 'bun:sqlite'

/**
 * `ledger`: the id that was made with the file; copies keep it. `rows`: receipts and lines of the audit log. Every commit that is flushed and changes
 * something adds to them, nothing takes any away, and both are counted by their numbers: a count of commits would be a statement and a page of each.
 */
export type Position = Readonly<{ ledger: string; rows: number }>

const POSITION = `SELECT (SELECT value FROM meta WHERE name = 'node') AS ledger,
  (SELECT coalesce(max(number), 0) FROM receipts) + (SELECT coalesce(max(id), 0) FROM audit_log) AS rows`

export function positionOf(db: Database): Position {
  const found = db.query<{ ledger: string | null; rows: bigint }, []>(POSITION).get()
  return { ledger: found?.ledger ?? '', rows: Number(found?.rows ?? 0) }
}
