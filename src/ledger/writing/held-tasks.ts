/**
 * Tasks whose rows another transaction keeps locked, and since when they wait. They come before all other tasks, in the order in which they were asked. Rules: ledger.md
 * "Settles on Postgres".
 */

import type { NumberedTask, Task } from '../task.ts'
import type { LedgerFault } from '../thread-messages.ts'

export class HeldTasks {
  readonly #sinceMs = new Map<NumberedTask, number>()

  get isEmpty(): boolean {
    return this.#sinceMs.size === 0
  }

  all(): Iterable<NumberedTask> {
    return this.#sinceMs.keys()
  }

  /** Notes what became of a batch: its tasks in `held` go on waiting, all others are done. */
  note(batch: readonly NumberedTask[], held: ReadonlySet<Task>): void {
    const nowMs = performance.now()
    for (const numbered of batch) {
      if (!held.has(numbered.task)) this.#sinceMs.delete(numbered)
      else if (!this.#sinceMs.has(numbered)) this.#sinceMs.set(numbered, nowMs)
    }
  }

  forget(batch: readonly NumberedTask[]): void {
    for (const numbered of batch) this.#sinceMs.delete(numbered)
  }

  forgetAll(): void {
    this.#sinceMs.clear()
  }

  /** Removes and returns the tasks that have waited for `waitMs`. */
  takeLong(waitMs: number): readonly NumberedTask[] {
    const nowMs = performance.now()
    const long = [...this.#sinceMs].filter(([, sinceMs]) => nowMs - sinceMs >= waitMs).map(([numbered]) => numbered)
    this.forget(long)
    return long
  }
}

export const faultOfHeld = (account: number): LedgerFault => ({
  problem: `another transaction keeps rows of account number ${account} locked: the spill keeps its settles, and requests that need a lease of it are refused`,
})
