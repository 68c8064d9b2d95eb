/**
 * The transactions of the machine that writes: tried again where others were in the way, failed where the storage does not work, and undone as far as a savepoint
 * where a rule of the database was broken. Rules: ledger.md "Group commit", "Failing writes", "Two stores".
 */

import type { Engine, Purpose } from './engine.ts'
import type { NotApplied } from './store.ts'

/** A transaction that others were in the way of is tried so often before it counts as failed. */
export const TRIES_MAX = 5

/** What is remembered beside the rows has to follow them. */
type Followed = Readonly<{ committed: () => void; rolledBack: () => void }>

export class Transactions {
  readonly #engine: Engine
  readonly #followed: Followed

  constructor(engine: Engine, followed: Followed) {
    this.#engine = engine
    this.#followed = followed
  }

  /** Undefined when it was committed, else why not. `replay`: a rule of the database was broken. */
  run(write: () => void, purpose: Purpose): NotApplied | undefined
  run(write: () => void, purpose: Purpose, mode: 'may replay'): NotApplied | 'replay' | undefined
  run(write: () => void, purpose: Purpose, mode: 'may replay' | 'final' = 'final'): NotApplied | 'replay' | undefined {
    for (let tries = 1; ; tries++) {
      try {
        this.#engine.transact(write, purpose)
        this.#followed.committed()
        return undefined
      } catch (error) {
        this.#followed.rolledBack()
        const verdict = this.#engine.verdictOf(error)
        if (verdict === 'again' && tries < TRIES_MAX) continue
        if (verdict === 'fenced') return { kind: 'failed', problem: this.#engine.describe(error), isFenced: true }
        if (verdict === 'held') return { kind: 'failed', problem: this.#engine.describe(error), isHeld: true }
        if (verdict !== 'rule') return { kind: 'failed', problem: this.#engine.describe(error) }
        if (mode === 'may replay') return 'replay'
        throw error
      }
    }
  }

  /** Within one. What undid it, or undefined. What is not of a rule is thrown on. */
  inSavepoint(write: () => void): Readonly<{ error: unknown }> | undefined {
    try {
      this.#engine.db.transaction(write)()
      return undefined
    } catch (error) {
      this.#followed.rolledBack()
      if (this.#engine.verdictOf(error) !== 'rule') throw error
      return { error }
    }
  }

  /** Within one, too: what was written stays, unless the result says that it must not. */
  undoneIf<T>(write: () => T, isUndone: (result: T) => boolean): T {
    let undone: Readonly<{ result: T }> | undefined
    try {
      return this.#engine.db.transaction(() => {
        const result = write()
        if (!isUndone(result)) return result
        undone = { result }
        throw UNDONE
      })()
    } catch (error) {
      if (error !== UNDONE || undone === undefined) throw error
      return undone.result
    }
  }
}

const UNDONE = new Error('what was written is undone')
