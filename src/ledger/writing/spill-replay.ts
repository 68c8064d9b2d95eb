/**
 * Decides when the spill is replayed: before every group. While another transaction's locks keep it out of the ledger, it is replayed less often, so that this takes little
 * of the thread's time. Rules: ledger.md "Spill", "Settles on Postgres".
 */

import type { Spill } from './spill.ts'
import type { NotApplied, Replayed } from './store.ts'

/** While locks keep the spill out, a replay is followed by a pause of this many times its length. */
const HELD_REPLAY_PARTS = 10
const NO_ACCOUNTS: ReadonlySet<number> = new Set()

export class SpillReplay {
  readonly #spill: Spill
  #unsettled: ReadonlySet<number>
  /** Until this time the spill counts as locked, and is not replayed. */
  #isHeldUntilMs = 0

  constructor(spill: Spill) {
    this.#spill = spill
    this.#unsettled = spill.accounts()
  }

  /** Accounts whose settles are in the spill because their rows stayed locked. */
  get unsettled(): ReadonlySet<number> {
    return this.#unsettled
  }

  /** To be called when tasks were spilled because of a lock. Returns the accounts that had nothing in the spill before. */
  noteLocked(): readonly number[] {
    const before = this.#unsettled
    this.#unsettled = this.#spill.accounts()
    return [...this.#unsettled].filter((account) => !before.has(account))
  }

  /** Makes the next `replay` try at once. */
  hasten(): void {
    this.#isHeldUntilMs = 0
  }

  /** Undefined: the spill is empty, or it is too early to try again. */
  replay(): Replayed | NotApplied | undefined {
    const startedMs = performance.now()
    if (this.#spill.isEmpty || startedMs < this.#isHeldUntilMs) return undefined
    const replayed = this.#spill.replay()
    const isHeld = replayed.kind === 'failed' && replayed.isHeld === true
    this.#unsettled = isHeld ? this.#spill.accounts() : NO_ACCOUNTS
    const endedMs = performance.now()
    if (replayed.kind === 'failed') this.#isHeldUntilMs = isHeld ? endedMs + HELD_REPLAY_PARTS * (endedMs - startedMs) : 0
    return replayed
  }
}
