/**
 * The transactions of `GroupWrites`. A transaction is tried again if others were in the way, fails if the storage does not work, and is undone as far as a savepoint
 * if a rule of the database was broken. Rules: ledger.md "Group commit", "Failing writes", "Two stores".
 */

import type { Engine, Purpose } from './engine.ts'
import type { NotApplied } from './store.ts'

/** How often a transaction is tried when others are in the way, before it counts as failed. */
export const TRIES_MAX = 5

/** Told of commits and rollbacks, so that what is remembered of the rows follows them. */
type Followed = Readonly<{ committed: () => void; rolledBack: () => void }>

export class Transactions {
  readonly #engine: Engine
  readonly #followed: Followed

  constructor(engine: Engine, followed: Followed) {
    this.#engine = engine
    this.#followed = followed
  }

  /** Undefined: the transaction was committed; otherwise why it was not. `replay`: a rule of the database was broken. */
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

  /** To be called within a transaction. Returns the error of a broken rule, which undid `write`, or undefined. Any other error is thrown on. */
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

  /** To be called within a transaction. What was written stays, unless `isUndone` says of the result that it must not. */
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
