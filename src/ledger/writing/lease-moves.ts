/** Moves leases in a statement of their own after the writes of the group, so that the rows already say what is left after these. Rules: ledger.md "Leases". */

import type { LeaseAnswer } from '../lease-move.ts'
import { isLease, type LeaseTask, type Task } from '../task.ts'
import type { LedgerFault } from '../thread-messages.ts'
import type { Engine } from './engine.ts'
import { HELD_TRIES_MAX, type HeldRows } from './held-rows.ts'
import { TRIES_MAX } from './transactions.ts'

export class LeaseMoves {
  readonly #engine: Engine
  readonly #heldRows: HeldRows

  constructor(engine: Engine, heldRows: HeldRows) {
    this.#engine = engine
    this.#heldRows = heldRows
  }

  /** Does all lease tasks, except those of the accounts in `apart`. A task without an answer is answered `unavailable` at once: no request waits for a storage that fails. */
  move(tasks: readonly Task[], apart: ReadonlySet<number>, faults: LedgerFault[]): ReadonlyMap<Task, LeaseAnswer> {
    let free = tasks.filter(isLease).filter((task) => !apart.has(accountOf(task)))
    for (let tries = 1; free.length > 0; tries++) {
      try {
        const answers = this.#engine.moveLeases?.(free) ?? []
        return new Map(
          answers.flatMap((answer, place) => (free[place] === undefined || answer === undefined ? [] : [[free[place], answer]])),
        )
      } catch (error) {
        const verdict = this.#engine.verdictOf(error)
        if (verdict === 'again' && tries < TRIES_MAX) continue
        if (verdict === 'rule') faults.push(this.#engine.faultOf('lease', error))
        if (verdict !== 'held' || tries >= HELD_TRIES_MAX) break
        const held = this.#heldRows.among(free)
        if ('kind' in held) break
        free = free.filter((task) => !held.has(task))
      }
    }
    return new Map()
  }
}

const accountOf = (task: LeaseTask): number => (task.kind === 'ask' ? task.ask : task.release).accountNumber
