/**
 * The ledger as a synchronous state machine: tasks in, answers out, over the engine of either store. All writes of a call share one transaction. A write that breaks a
 * rule of the database breaks the group: the group is rolled back and replayed, each task in a savepoint of its own, so that the culprit is found and the other tasks
 * are done. Rules: ledger.md "Group commit", "Two stores".
 */

import type { KeyChange, KeysOf } from '../ledger.ts'
import { operate } from '../operations/operator-writes.ts'
import { Numbers } from '../sql/numbers.ts'
import { type Answer, type Debit, isLease, isRead, isWrite, type Task, unavailable, type WriteTask } from '../task.ts'
import type { LedgerFault } from '../thread-messages.ts'
import { type Debits, pricedOf } from './debits.ts'
import { type DuplicateSettle, settleDuplicate } from './duplicate-settle.ts'
import type { Engine } from './engine.ts'
import { faultOfFenced, fencedDebit, isOfFencedBoot } from './fenced-debit.ts'
import { HELD_TRIES_MAX, type Held, HeldRows, NONE_HELD } from './held-rows.ts'
import { LeaseMoves } from './lease-moves.ts'
import type { OrphanedCheckpoint } from './orphaned-checkpoints.ts'
import { recoveredDebit, recoveredOf } from './recovered-receipt.ts'
import type { Spilled } from './spill-records.ts'
import { SpilledWrites } from './spilled-writes.ts'
import type { Applied, NotApplied, Replayed } from './store.ts'
import { Transactions } from './transactions.ts'
import { readOf } from './writer-reads.ts'

type Written = { answers: Answer[]; changes: KeyChange[]; faults: LedgerFault[] }
/** A settle that waits for the others of its group, by its place in the answers. */
type Waiting = Readonly<{ index: number; debit: Debit }>

export class GroupWrites {
  readonly #engine: Engine
  readonly #debits: Debits
  readonly #transactions: Transactions
  readonly #heldRows: HeldRows
  readonly #leaseMoves: LeaseMoves
  readonly #spilled: SpilledWrites
  readonly #waiting: Waiting[] = []
  readonly numbers: Numbers
  #readProblem: string | undefined

  constructor(engine: Engine) {
    this.#engine = engine
    this.numbers = new Numbers(engine.statements)
    this.#debits = engine.debitsOf(this.numbers)
    this.#transactions = new Transactions(engine, {
      committed: () => {
        this.numbers.committed()
        this.#debits.committed()
      },
      rolledBack: () => this.#forget(),
    })
    this.#heldRows = new HeldRows(engine)
    this.#leaseMoves = new LeaseMoves(engine, this.#heldRows)
    this.#spilled = new SpilledWrites({ engine, transactions: this.#transactions, debits: this.#debits, heldRows: this.#heldRows })
  }

  apply(tasks: readonly Task[], unsettled: ReadonlySet<number> = new Set()): Applied | NotApplied {
    for (let tries = 1; ; tries++) {
      const mayBeHeld = tries > 1 || this.#heldRows.isAny || unsettled.size > 0
      const held = mayBeHeld && !tasks.every(isRead) ? this.#heldRows.among(tasks) : NONE_HELD
      if ('kind' in held) return held
      const applied = this.#applyBut(held, tasks, unsettled)
      if (applied.kind === 'applied' || applied.isHeld !== true || tries === HELD_TRIES_MAX) return applied
    }
  }

  #applyBut(held: Held, tasks: readonly Task[], unsettled: ReadonlySet<number>): Applied | NotApplied {
    const written: Written = { answers: new Array<Answer>(tasks.length), changes: [], faults: [] }
    const heldWrites = new Set([...held.keys()].filter(isWrite))
    const writes = tasks.filter(isWrite).filter((task) => !heldWrites.has(task))
    if (writes.length > 0) {
      const purpose = { isDurable: writes.some(({ kind }) => kind === 'settle' || kind === 'operate'), tasks: writes }
      const free = heldWrites.size === 0 ? tasks : tasks.map((task) => (held.has(task) ? undefined : task))
      const problem = this.#transactions.run(() => this.#writeGroup(free, written), purpose, 'may replay')
      const again = problem === 'replay' ? this.#transactions.run(() => this.#writeEach(free, written), { isDurable: true }) : problem
      if (again !== undefined) return again
    }
    // Leases move after the writes. The accounts of unsettled and held tasks are left out: no row has those costs yet, and the money would be leased to others.
    this.#moveLeases(tasks, written, new Set([...unsettled, ...held.values()]))
    this.#read(tasks, written)
    return { kind: 'applied', ...written, held: heldWrites }
  }

  /** A failing read is reported once, until a read works again, because every request that comes meanwhile reads. */
  #read(tasks: readonly Task[], { answers, faults }: Written): void {
    tasks.forEach((task, index) => {
      if (!isRead(task)) return
      try {
        answers[index] = readOf(this.#engine, task)
        this.#readProblem = undefined
      } catch (error) {
        const fault = this.#engine.faultOf(task.kind, error)
        if (fault.problem !== this.#readProblem) faults.push(fault)
        this.#readProblem = fault.problem
        answers[index] = 'unavailable'
      }
    })
  }

  #moveLeases(tasks: readonly Task[], { answers, faults }: Written, apart: ReadonlySet<number>): void {
    if (!tasks.some(isLease)) return
    const moved = this.#leaseMoves.move(tasks, apart, faults)
    tasks.forEach((task, index) => {
      if (isLease(task)) answers[index] = moved.get(task) ?? 'unavailable'
    })
  }

  /**
   * A checkpoint that the database refuses (a broken upstream's figures) is dropped: one bad checkpoint must not keep the ledger closed. Checkpoints whose rows another
   * transaction keeps locked stay. Returns how many are gone.
   */
  recover(all: readonly OrphanedCheckpoint[], now: number): number | NotApplied {
    const tasks = all.map((checkpoint) => ({ kind: 'settle', debit: recoveredDebit(checkpoint, now) }) as const)
    const held = tasks.length === 0 ? NONE_HELD : this.#heldRows.among(tasks)
    if ('kind' in held) return held
    const left = all.filter((_, place) => tasks[place] === undefined || !held.has(tasks[place]))
    if (left.length === 0) return 0
    const waive = (checkpoints: readonly OrphanedCheckpoint[]): void => {
      this.#debits.insert(checkpoints.map((checkpoint) => recoveredOf(checkpoint, now, this.numbers)))
      this.#debits.flush()
    }
    const waiveEach = (): void => {
      for (const one of left) {
        if (this.#transactions.inSavepoint(() => waive([one])) !== undefined)
          this.#engine.statements.deleteCheckpoint.run(one.checkpoint.requestId)
      }
    }
    const problem = this.#transactions.run(() => waive(left), { isDurable: true }, 'may replay')
    return (problem === 'replay' ? this.#transactions.run(waiveEach, { isDurable: true }) : problem) ?? left.length
  }

  replay(frames: readonly Spilled[], onStep?: () => void): Replayed | NotApplied {
    return this.#spilled.replay(frames, onStep)
  }

  /** Writes all tasks, then the sums; any broken rule breaks the whole group. */
  #writeGroup(tasks: readonly (Task | undefined)[], written: Written): void {
    written.changes.length = 0
    written.faults.length = 0
    for (let index = 0; index < tasks.length; index++) {
      const task = tasks[index]
      if (task !== undefined && isWrite(task)) this.#perform(task, index, written)
    }
    this.#settle(written)
    this.#debits.flush()
  }

  #writeEach(tasks: readonly (Task | undefined)[], written: Written): void {
    written.changes.length = 0
    written.faults.length = 0
    tasks.forEach((task, index) => {
      if (task === undefined || !isWrite(task)) return
      const failure = this.#transactions.inSavepoint(() => {
        this.#perform(task, index, written)
        this.#settle(written)
        this.#debits.flush()
      })
      if (failure === undefined) return
      written.faults.push(this.#engine.faultOf(task.kind, failure.error))
      written.answers[index] = unavailable(task)
    })
  }

  #forget(): void {
    this.#waiting.length = 0
    this.#debits.forget()
    this.numbers.rolledBack()
  }

  #perform(task: WriteTask, index: number, written: Written): void {
    const { answers } = written
    switch (task.kind) {
      case 'settle':
        this.#waiting.push({ index, debit: task.debit })
        return
      case 'attempts':
        this.#debits.insertAttempts(task.calls)
        answers[index] = 'recorded'
        return
      case 'checkpoint':
        // The node that fenced that boot may have waived the request already.
        if (!isOfFencedBoot(this.#engine, task.checkpoint)) this.#debits.putCheckpoint(task.checkpoint, task.now)
        answers[index] = 'checkpointed'
        return
      case 'dropCheckpoint': {
        this.#settle(written)
        this.#debits.flush()
        const { deleteCheckpoint, isSettled } = this.#engine.statements
        deleteCheckpoint.run(task.requestId)
        answers[index] = isSettled.get({ requestId: task.requestId }) === undefined ? 'absent' : 'settled'
        return
      }
      case 'operate':
        this.#settle(written)
        answers[index] = this.#operate(task, written.changes)
    }
  }

  /** Writes all settles that wait, because the next task may read their rows. */
  #settle({ answers, faults }: Written): void {
    const { numbers } = this
    const waiting = this.#waiting.splice(0)
    if (waiting.length === 0) return
    const isOver = waiting.map(({ debit }) => isOfFencedBoot(this.#engine, debit))
    const isNew = this.#debits.insert(waiting.map(({ debit }, place) => pricedOf(isOver[place] ? fencedDebit(debit) : debit, numbers)))
    waiting.forEach(({ index, debit }, place) => {
      if (isNew[place] && !isOver[place]) {
        answers[index] = 'settled'
        return
      }
      const { answer, fault } = isOver[place]
        ? ({ answer: 'already', fault: faultOfFenced(debit, isNew[place] === true) } as DuplicateSettle)
        : settleDuplicate(this.#engine, this.#debits, debit)
      answers[index] = answer
      if (fault !== undefined) faults.push(fault)
    })
  }

  /** Does an operator's operation. What the group spent before is written first, so that the operation sees it. Rows that a refused operation has written are rolled back. */
  #operate({ operation, act }: Extract<WriteTask, { kind: 'operate' }>, changes: KeyChange[]): Answer {
    this.#debits.flush()
    const result = this.#transactions.undoneIf(
      () => operate(this.#engine.statements, operation, act),
      ({ result }) => result === 'refused',
    )
    this.#debits.reread()
    if (result.result === 'refused') return result
    const own = result.changed.map((keys) => ({ ...keys, stop: this.#stopOf(keys) }))
    changes.push(...own)
    this.#engine.announce?.(operation, own)
    const { changed: _, ...done } = result
    return done
  }

  #stopOf(keys: KeysOf): KeyChange['stop'] {
    const { account, keyState } = this.#engine.statements
    if ('accountId' in keys) return account.get(keys)?.isActive ? null : 'disabled'
    const key = keyState.get(keys)
    return key?.isActive && key.isAccountActive ? null : 'disabled'
  }
}
