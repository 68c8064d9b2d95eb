/**
 * Decides when the spill is tried again: before every group, but where another transaction's locks keep it out of the ledger only so often that looking takes little of
 * the thread's time. Rules: ledger.md "Spill", "Settles on Postgres".
 */

import type { Spill } from './spill.ts'
import type { NotApplied, Replayed } from './store.ts'

/** Looking at what locks keep out may take one part in so many of the thread's time. */
const HELD_REPLAY_PARTS = 10
const NO_ACCOUNTS: ReadonlySet<number> = new Set()

export class SpillReplay {
  readonly #spill: Spill
  #unsettled: ReadonlySet<number>
  /** Until then `unsettled` is known to be all of it, and it is not tried again. */
  #isHeldUntilMs = 0

  constructor(spill: Spill) {
    this.#spill = spill
    this.#unsettled = spill.accounts()
  }

  /** Accounts of which the spill keeps settles, because their rows stayed locked. */
  get unsettled(): ReadonlySet<number> {
    return this.#unsettled
  }

  /** Notes that what was kept just now waits for a lock. Returns the accounts of which nothing waited before. */
  noteLocked(): readonly number[] {
    const before = this.#unsettled
    this.#unsettled = this.#spill.accounts()
    return [...this.#unsettled].filter((account) => !before.has(account))
  }

  /** The next one is not put off. */
  hasten(): void {
    this.#isHeldUntilMs = 0
  }

  /** Undefined: nothing is kept, or it is too early to look again. */
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
