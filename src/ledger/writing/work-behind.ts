/**
 * Does what is put off behind the settles while the thread that writes has a moment: a small piece at a time, and for a fifth of its time at most, so that no settle waits
 * behind more than one piece. Rules: ledger.md "Hours".
 */

import type { LedgerFault } from '../thread-messages.ts'
import type { RolledUp, Store } from './store.ts'

const LOOK_MS = 250
/** After a piece, this many times as long is left to others. */
const PAUSE = 4
/** Ten minutes of looks. */
const BLOCKED_LOOKS_MAX = 2_400
const BLOCKED =
  'for ten minutes sums by hour have waited for a transaction, of any database of this server, that does not end: Explore reads all receipts since then one by one. Find it by SELECT pid, datname, xact_start FROM pg_stat_activity WHERE backend_xid IS NOT NULL ORDER BY xact_start, and end it'

export class WorkBehind {
  readonly #store: Pick<Store, 'rollUp'>
  readonly #say: (fault: LedgerFault) => void
  #next: ReturnType<typeof setTimeout> | undefined
  #blockedLooks = 0

  /** `say` is told once of a piece that cannot be done: it would fail again, and the settles do without it. */
  constructor(store: Pick<Store, 'rollUp'>, say: (fault: LedgerFault) => void) {
    this.#store = store
    this.#say = say
    this.#arm(LOOK_MS)
  }

  stop(): void {
    clearTimeout(this.#next)
    this.#next = undefined
  }

  #arm(delayMs: number): void {
    this.#next = setTimeout(() => {
      const startedMs = performance.now()
      const done = this.#piece()
      if (done === 'failed') return
      this.#arm(done === 'more' ? PAUSE * (performance.now() - startedMs) : LOOK_MS)
    }, delayMs)
  }

  #piece(): RolledUp | 'failed' {
    try {
      const done = this.#store.rollUp()
      this.#blockedLooks = done === 'blocked' ? this.#blockedLooks + 1 : 0
      if (this.#blockedLooks === BLOCKED_LOOKS_MAX) this.#say({ problem: BLOCKED })
      return done
    } catch (error) {
      this.#say({ problem: 'sums by hour are not counted any more until the next start', bug: error })
      return 'failed'
    }
  }
}
