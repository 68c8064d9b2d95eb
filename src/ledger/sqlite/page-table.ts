/**
 * Work that is put off after settles: gives receipts their rows in the page table, a sorted batch at a time, and deletes expired idempotency
 * keys. No request waits for it, and a crash loses none of it: the numbers of receipts tell which have no row yet. Rules: ledger.md "Pages".
 */

import type { Database, Statement } from 'bun:sqlite'
import { PAGED_TO } from '../sql/paged.ts'

/** Receipts in a batch. A larger batch costs less per receipt and delays the next commit for longer; this one delays it by about 7 ms. */
const BATCH = 4_096
/** The most idempotency keys that a batch deletes: twice what a batch of settles can add. */
const FORGOTTEN_MAX = 2 * BATCH

export class PageTable {
  readonly #fill: Statement
  readonly #setMark: Statement
  readonly #forget: Statement<unknown, [number, number]>
  readonly #left: Statement<{ left: bigint }, []>
  #waiting = 0

  constructor(db: Database) {
    this.#fill = db.prepare(
      `INSERT OR IGNORE INTO receipt_pages SELECT key_number, settled_at, number FROM receipts
       WHERE number > ${PAGED_TO} AND number <= ${PAGED_TO} + ${BATCH} ORDER BY key_number, settled_at, number`,
    )
    this.#setMark = db.prepare(
      `UPDATE meta SET value = min(${PAGED_TO} + ${BATCH}, (SELECT coalesce(max(number), 0) FROM receipts)) WHERE name = 'paged'`,
    )
    this.#forget = db.prepare(
      `DELETE FROM idempotency WHERE (key_number, header_hash) IN (SELECT key_number, header_hash FROM idempotency WHERE expires_at <= ? LIMIT ?)`,
    )
    this.#left = db.prepare(`SELECT coalesce(max(number), 0) - ${PAGED_TO} AS left FROM receipts`)
    this.advanced()
  }

  /** To be called with the number of receipts that were committed. */
  noteReceipts(count: number): void {
    this.#waiting += count
  }

  get isDue(): boolean {
    return this.#waiting >= BATCH
  }

  /** Does one batch, inside the caller's transaction. `now`: Unix milliseconds. */
  advance(now: number): void {
    this.#fill.run()
    this.#setMark.run()
    this.#forget.run(now, FORGOTTEN_MAX)
  }

  /** To be called when the batch was committed. */
  advanced(): void {
    this.#waiting = Number(this.#left.get()?.left)
  }
}
