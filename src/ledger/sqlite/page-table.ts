/**
 * Work behind the settles: gives receipts their rows in the page table, a sorted batch at a time, and deletes idempotency keys that are
 * over. No request waits for it, and a crash loses none of it: which receipts have no row yet is told by their numbers. Rules: ledger.md "Pages".
 */

import type { Database, Statement } from 'bun:sqlite'
import { PAGED_TO } from '../sql/paged.ts'

/** Receipts a batch. Larger ones cost less a receipt and hold the next commit up for longer: some 7 ms. */
const BATCH = 4_096
/** Twice what a batch of settles can add. */
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

  /** So many receipts were committed. */
  noteReceipts(count: number): void {
    this.#waiting += count
  }

  get isDue(): boolean {
    return this.#waiting >= BATCH
  }

  /** One batch, inside the caller's transaction. `now`: Unix milliseconds. */
  advance(now: number): void {
    this.#fill.run()
    this.#setMark.run()
    this.#forget.run(now, FORGOTTEN_MAX)
  }

  /** The batch was committed. Until then pages read a longer end of the receipts. */
  advanced(): void {
    this.#waiting = Number(this.#left.get()?.left)
  }
}
