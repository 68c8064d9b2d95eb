/**
 * The number below which no receipt can appear any more: a transaction gets numbers before it commits, and another may commit higher ones first. A transaction that writes has
 * locked its node's row before it gets a number, so it is seen as running. Rules: ledger.md "Hours".
 */

import type { Connection } from '../sql/connection.ts'

type Seen = { last: bigint; next: bigint; oldest: bigint }

export class SettledEnd {
  readonly #look
  #before: Seen | undefined

  constructor(db: Connection) {
    this.#look = db.query<Seen, []>(
      `SELECT (SELECT coalesce(max(number), 0) FROM receipts) AS last, CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS TEXT) AS BIGINT) AS next,
         CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT) AS BIGINT) AS oldest`,
    )
  }

  /**
   * What was the greatest number at an earlier look, if all transactions that ran then have ended; undefined: one runs still, or this is the first look. Throws
   * what Postgres says.
   */
  look(): number | undefined {
    const now = this.#look.get()
    if (now === null) return undefined
    const before = this.#before
    if (before !== undefined && now.oldest < before.next) return undefined
    this.#before = now
    return before === undefined ? undefined : Number(before.last)
  }
}
