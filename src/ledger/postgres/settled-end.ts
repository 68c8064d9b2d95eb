/**
 * The number below which no receipt can appear any more: a transaction gets numbers before it commits, and another may commit higher ones first. A transaction that writes has
 * locked its node's row before it gets a number, so it has an id by then. A snapshot knows no end of the ids that were given: those above the last one that has ended may
 * run. So the end is the id of a later look's transaction. Rules: ledger.md "Hours".
 */

import type { Connection } from '../sql/connection.ts'

type Seen = { last: bigint; own: bigint; oldest: bigint }

export class SettledEnd {
  readonly #look
  /** The greatest number at the look before. */
  #last: bigint | undefined
  /** `endedBy`: an id that was given after the look that saw the number. */
  #waiting: Readonly<{ last: bigint; endedBy: bigint }> | undefined

  constructor(db: Connection) {
    this.#look = db.query<Seen, []>(
      `SELECT (SELECT coalesce(max(number), 0) FROM receipts) AS last, CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT) AS own,
         CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT) AS BIGINT) AS oldest`,
    )
  }

  /**
   * What was the greatest number at an earlier look, if all transactions that ran then have ended; undefined: one runs still, or there were not two looks before. To be called in a
   * transaction of its own. Throws what Postgres says.
   */
  look(): number | undefined {
    const now = this.#look.get()
    if (now === null) return undefined
    const { last, own, oldest } = now
    const waiting = this.#waiting
    const isEnded = waiting !== undefined && oldest >= waiting.endedBy
    if ((waiting === undefined || isEnded) && this.#last !== undefined) this.#waiting = { last: this.#last, endedBy: own }
    this.#last = last
    return isEnded ? Number(waiting.last) : undefined
  }
}
