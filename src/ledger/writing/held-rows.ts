/** Rows that another transaction keeps locked: the tasks that need them wait, and no other task waits with them. Rules: ledger.md "Settles on Postgres". */

import type { Task } from '../task.ts'
import type { Engine } from './engine.ts'
import type { NotApplied } from './store.ts'

/** How often the thread waits for another transaction's lock before a group counts as failed. */
export const HELD_TRIES_MAX = 3

/** Tasks that cannot be done now, each with the number of its account. */
export type Held = ReadonlyMap<Task, number>
export const NONE_HELD: Held = new Map()

export class HeldRows {
  readonly #engine: Engine
  #isAny = false

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** Whether rows were held at the last look. */
  get isAny(): boolean {
    return this.#isAny
  }

  among(tasks: readonly Task[]): Held | NotApplied {
    try {
      const held = this.#engine.heldAmong?.(tasks) ?? NONE_HELD
      this.#isAny = held.size > 0
      return held
    } catch (error) {
      if (this.#engine.verdictOf(error) === 'rule') throw error
      return { kind: 'failed', problem: this.#engine.describe(error) }
    }
  }
}
