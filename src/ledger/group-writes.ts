/**
 * The ledger as a synchronous state machine: tasks in, answers out, over the engine of either store. All writes of a call share one transaction. One that breaks a
 * rule of the database breaks the group: it is rolled back and replayed, each task in a savepoint of its own, which names the culprit and takes no neighbour
 * with it. Rules: ledger.md "Group commit", "Two stores".
 */

import { dayAt } from '../core/utc.ts'
import type { Debits, Priced } from './debits.ts'
import type { Engine } from './engine.ts'
import type { KeyChange } from './ledger.ts'
import type { LeftMark } from './left-marks.ts'
import { Numbers } from './numbers.ts'
import { operate } from './operator-writes.ts'
import { ratesOf } from './receipt-rows.ts'
import { recoveredDebit } from './recovery.ts'
import { type Again, settleAgain } from './second-settle.ts'
import type { Spilled } from './spill-records.ts'
import type { Applied, NotApplied, Replayed } from './store.ts'
import {
  type Answer,
  type Debit,
  isLease,
  isRead,
  isWrite,
  type LeaseAnswer,
  type LeaseTask,
  type LedgerFault,
  type PriceVersion,
  type Task,
  unavailable,
  type WriteTask,
} from './task.ts'
import { TRIES_MAX, Transactions } from './transactions.ts'
import { faultOfWaived, waivedOf } from './waived.ts'
import { readOf } from './writer-reads.ts'

type Written = { answers: Answer[]; changes: KeyChange[]; faults: LedgerFault[] }
/** A settle that waits for the others of its group, by its place in the answers. */
type Waiting = Readonly<{ index: number; debit: Debit }>

/** So often the thread waits for somebody's lock before a group counts as failed. */
const HELD_TRIES_MAX = 3

/** Tasks that cannot be done now, and whose account that is. */
type Held = ReadonlyMap<Task, number>
const NONE_HELD: Held = new Map()

export class GroupWrites {
  readonly #engine: Engine
  readonly #debits: Debits
  readonly #transactions: Transactions
  readonly #waiting: Waiting[] = []
  /** Some were held when they were last looked at. */
  #isAnyHeld = false
  readonly numbers: Numbers

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
  }

  apply(tasks: readonly Task[], unsettled: ReadonlySet<number> = new Set()): Applied | NotApplied {
    for (let tries = 1; ; tries++) {
      const mayBeHeld = tries > 1 || this.#isAnyHeld || unsettled.size > 0
      const held = mayBeHeld && !tasks.every(isRead) ? this.#lookForHeld(tasks) : NONE_HELD
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
    // What is not settled yet is in no row, and would be leased to others.
    this.#moveLeases(tasks, written, new Set([...unsettled, ...held.values()]))
    tasks.forEach((task, index) => {
      if (!isRead(task)) return
      try {
        written.answers[index] = readOf(this.#engine.statements, task)
      } catch (error) {
        written.faults.push(this.#engine.faultOf(task.kind, error))
        written.answers[index] = 'unavailable'
      }
    })
    return { kind: 'applied', ...written, held: heldWrites }
  }

  #lookForHeld(tasks: readonly Task[]): Held | NotApplied {
    try {
      const held = this.#engine.heldAmong?.(tasks) ?? NONE_HELD
      this.#isAnyHeld = held.size > 0
      return held
    } catch (error) {
      if (this.#engine.verdictOf(error) === 'rule') throw error
      return { kind: 'failed', problem: this.#engine.describe(error) }
    }
  }

  /** Behind what was written: a row says what is left after it. Who asks is told at once that nothing is known, and no request waits for a storage that fails. */
  #moveLeases(tasks: readonly Task[], { answers, faults }: Written, apart: ReadonlySet<number>): void {
    const leases = tasks.filter(isLease)
    if (leases.length === 0) return
    const moved = this.#tryMoves(
      leases.filter((task) => !apart.has(accountOf(task))),
      faults,
    )
    tasks.forEach((task, index) => {
      if (isLease(task)) answers[index] = moved.get(task) ?? 'unavailable'
    })
  }

  /** None of those whose rows somebody else keeps locked, and none at all where the storage fails. */
  #tryMoves(moves: readonly LeaseTask[], faults: LedgerFault[]): ReadonlyMap<LeaseTask, LeaseAnswer> {
    let free = moves
    for (let tries = 1; free.length > 0; tries++) {
      try {
        const answers = this.#engine.moveLeases?.(free) ?? []
        return new Map(answers.flatMap((answer, place) => (free[place] === undefined ? [] : [[free[place], answer]])))
      } catch (error) {
        const verdict = this.#engine.verdictOf(error)
        if (verdict === 'again' && tries < TRIES_MAX) continue
        if (verdict === 'rule') faults.push(this.#engine.faultOf('lease', error))
        if (verdict !== 'held' || tries >= HELD_TRIES_MAX) break
        const held = this.#lookForHeld(free)
        if ('kind' in held) break
        free = free.filter((task) => !held.has(task))
      }
    }
    return new Map()
  }

  /**
   * A mark that the database refuses (a broken upstream's figures) is dropped: one bad mark must not keep the ledger closed. Those whose rows somebody keeps locked
   * stay. Returns how many are gone.
   */
  recover(all: readonly LeftMark[], now: number): number | NotApplied {
    const tasks = all.map((mark) => ({ kind: 'settle', debit: recoveredDebit(mark, now) }) as const)
    const held = tasks.length === 0 ? NONE_HELD : this.#lookForHeld(tasks)
    if ('kind' in held) return held
    const left = all.filter((_, place) => tasks[place] === undefined || !held.has(tasks[place]))
    if (left.length === 0) return 0
    const waive = (marks: readonly LeftMark[]): void => {
      this.#debits.insert(marks.map((mark) => recoveredOf(mark, now)))
      this.#debits.flush()
    }
    const waiveEach = (): void => {
      for (const one of left) {
        if (this.#transactions.inSavepoint(() => waive([one])) !== undefined) this.#engine.statements.deleteMark.run(one.mark.requestId)
      }
    }
    const problem = this.#transactions.run(() => waive(left), { isDurable: true }, 'may replay')
    return (problem === 'replay' ? this.#transactions.run(waiveEach, { isDurable: true }) : problem) ?? left.length
  }

  /** What a spill kept, whoever wrote it. What is there already stays as it is; what the database refuses is dropped, and told. */
  replay(frames: readonly Spilled[]): Replayed | NotApplied {
    const settled: string[] = []
    const faults: LedgerFault[] = []
    const held = this.#lookForHeld(frames.flatMap(tasksIn))
    if ('kind' in held) return held
    if (held.size > 0) return { kind: 'failed', problem: 'somebody keeps rows locked that the spill needs', isHeld: true }
    const problem = this.#transactions.run(
      () => {
        settled.length = 0
        faults.length = 0
        for (const frame of frames) this.#replayFrame(frame, settled, faults)
        this.#debits.reread()
      },
      { isDurable: true },
    )
    if (problem === undefined) return { kind: 'replayed', settled, faults }
    // Whose rows were locked just now, the next look finds; where it finds nobody's, the storage itself does not work.
    const { isHeld: _, ...failed } = problem
    return failed
  }

  #replayFrame({ prices, debits, releases, calls }: Spilled, settled: string[], faults: LedgerFault[]): void {
    const numbers = new Numbers(this.#engine.statements)
    numbers.define(prices)
    const own = this.#engine.debitsOf(numbers)
    const attempt = (kind: Task['kind'], write: () => void): void => {
      const failure = this.#transactions.inSavepoint(write)
      if (failure === undefined) return
      own.forget()
      numbers.rolledBack()
      faults.push(this.#engine.faultOf(`${kind} from the spill`, failure.error))
    }
    for (const debit of debits) {
      attempt('settle', () => {
        const isWaived = this.#isWaived(debit)
        const [isNew = false] = own.insert([pricedOf(isWaived ? waivedOf(debit) : debit, numbers)])
        own.flush()
        const fault = isWaived ? faultOfWaived(debit, isNew) : isNew ? undefined : this.#settleAgain(debit, own).fault
        settled.push(debit.requestId)
        if (fault !== undefined) faults.push(fault)
      })
    }
    for (const requestId of releases) attempt('unmark', () => this.#engine.statements.deleteMark.run(requestId))
    for (const call of calls) {
      attempt('attempts', () => {
        own.insertAttempts(call)
        own.flush()
      })
    }
  }

  /** All at once, the sums at the end: any broken rule breaks the group. */
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
      case 'mark':
        // Whoever fenced that boot may have waived the request already.
        if (!this.#isWaived(task.mark)) this.#debits.putMark(task.mark, task.now)
        answers[index] = 'marked'
        return
      case 'unmark': {
        this.#settle(written)
        this.#debits.flush()
        const { deleteMark, isSettled } = this.#engine.statements
        deleteMark.run(task.requestId)
        answers[index] = isSettled.get({ requestId: task.requestId }) === undefined ? 'absent' : 'settled'
        return
      }
      case 'operate':
        this.#settle(written)
        answers[index] = this.#operate(task, written.changes)
    }
  }

  /** All that wait: whoever reads what they write comes after. */
  #settle({ answers, faults }: Written): void {
    const { numbers } = this
    const waiting = this.#waiting.splice(0)
    if (waiting.length === 0) return
    const isWaived = waiting.map(({ debit }) => this.#isWaived(debit))
    const isNew = this.#debits.insert(waiting.map(({ debit }, place) => pricedOf(isWaived[place] ? waivedOf(debit) : debit, numbers)))
    waiting.forEach(({ index, debit }, place) => {
      if (isNew[place] && !isWaived[place]) {
        answers[index] = 'settled'
        return
      }
      const { answer, fault } = isWaived[place]
        ? ({ answer: 'already', fault: faultOfWaived(debit, isNew[place] === true) } as Again)
        : this.#settleAgain(debit, this.#debits)
      answers[index] = answer
      if (fault !== undefined) faults.push(fault)
    })
  }

  #isWaived({ boot }: Pick<Debit, 'boot'>): boolean {
    return boot !== undefined && this.#engine.isFenced?.(boot) === true
  }

  #settleAgain(debit: Debit, debits: Debits): Again {
    debits.flush()
    const again = settleAgain(this.#engine.statements, this.#engine.boot, debit)
    debits.reread()
    return again
  }

  /** A refusal may leave half-made rows behind: they are rolled back. What the group spent before is written first, so that an operation sees it. */
  #operate({ operation, act }: Extract<WriteTask, { kind: 'operate' }>, changes: KeyChange[]): Answer {
    this.#debits.flush()
    const performed = this.#transactions.undoneIf(
      () => operate(this.#engine.statements, operation, act),
      ({ result }) => result === 'refused',
    )
    this.#debits.reread()
    if (performed.result === 'refused') return performed
    const own = performed.changed.map((keyId) => ({ keyId, stop: this.#stopOf(keyId) }))
    changes.push(...own)
    this.#engine.announce?.(operation, own)
    const { changed: _, ...done } = performed
    return done
  }

  #stopOf(keyId: string): KeyChange['stop'] {
    const key = this.#engine.statements.keyState.get({ keyId })
    return key?.isActive && key.isAccountActive ? null : 'disabled'
  }
}

const accountOf = (task: LeaseTask): number => (task.kind === 'ask' ? task.ask : task.release).accountNumber

const tasksIn = ({ debits, calls }: Spilled): readonly Task[] => [
  ...debits.map((debit) => ({ kind: 'settle', debit }) as const),
  ...calls.map((call) => ({ kind: 'attempts', calls: call }) as const),
]

function pricedOf(debit: Debit, numbers: Numbers): Priced {
  const version = numbers.versionAt(debit.price)
  return { debit, price: numbers.priceOf(version), version, day: dayAt(debit.now) }
}

/** The receipt of a request whose process died: it counts for the day on which it began, at the price of its mark. */
function recoveredOf(left: LeftMark, now: number): Priced {
  const debit = recoveredDebit(left, now)
  const version: PriceVersion = { modelId: left.modelId, rates: ratesOf(left.price) }
  return { debit, price: debit.price, version, day: dayAt(debit.startedAt) }
}
