/**
 * Writes the entries of a spill into the ledger, whichever process kept them, each in a savepoint of its own. Rows that are there already stay as they are; an entry that the
 * database refuses is dropped, and the operator is told. Rules: ledger.md "Spill", "Twice is once".
 */

import { Numbers } from '../sql/numbers.ts'
import type { Task } from '../task.ts'
import type { LedgerFault } from '../thread-messages.ts'
import { type Debits, pricedOf } from './debits.ts'
import { settleDuplicate } from './duplicate-settle.ts'
import type { Engine } from './engine.ts'
import { faultOfFenced, fencedDebit, isOfFencedBoot } from './fenced-debit.ts'
import type { HeldRows } from './held-rows.ts'
import type { Spilled } from './spill-records.ts'
import type { NotApplied, Replayed } from './store.ts'
import type { Transactions } from './transactions.ts'

/** `debits`: those of the ordinary groups. They are only told to reread, because spilled writes use debits of their own. */
type Around = Readonly<{ engine: Engine; transactions: Transactions; debits: Debits; heldRows: HeldRows }>

export class SpilledWrites {
  readonly #around: Around

  constructor(around: Around) {
    this.#around = around
  }

  /** `onStep`: called before each entry. */
  replay(frames: readonly Spilled[], onStep: () => void = () => undefined): Replayed | NotApplied {
    const { transactions, debits, heldRows } = this.#around
    const settled: string[] = []
    const faults: LedgerFault[] = []
    const held = heldRows.among(frames.flatMap(tasksIn))
    if ('kind' in held) return held
    if (held.size > 0) return { kind: 'failed', problem: 'another transaction keeps rows locked that the spill needs', isHeld: true }
    const problem = transactions.run(
      () => {
        settled.length = 0
        faults.length = 0
        for (const frame of frames) this.#replayFrame(frame, { settled, faults }, onStep)
        debits.reread()
      },
      { isDurable: true },
    )
    if (problem === undefined) return { kind: 'replayed', settled, faults }
    // A row that was locked just now is found by the next look. If that finds none, the storage itself does not work, so `isHeld` is left out here.
    const { isHeld: _, ...failed } = problem
    return failed
  }

  #replayFrame(
    { prices, debits, releases, calls }: Spilled,
    { settled, faults }: Readonly<{ settled: string[]; faults: LedgerFault[] }>,
    onStep: () => void,
  ): void {
    const { engine, transactions } = this.#around
    const numbers = new Numbers(engine.statements)
    numbers.define(prices)
    const own = engine.debitsOf(numbers)
    const attempt = (kind: Task['kind'], write: () => void): void => {
      onStep()
      const failure = transactions.inSavepoint(write)
      if (failure === undefined) return
      own.forget()
      numbers.rolledBack()
      faults.push(engine.faultOf(`${kind} from the spill`, failure.error))
    }
    for (const debit of debits) {
      attempt('settle', () => {
        const isOver = engine.waivesSpilled === true && isOfFencedBoot(engine, debit)
        const [isNew = false] = own.insert([pricedOf(isOver ? fencedDebit(debit) : debit, numbers)])
        own.flush()
        const fault = isOver ? faultOfFenced(debit, isNew) : isNew ? undefined : settleDuplicate(engine, own, debit).fault
        settled.push(debit.requestId)
        if (fault !== undefined) faults.push(fault)
      })
    }
    for (const requestId of releases) attempt('dropCheckpoint', () => engine.statements.deleteCheckpoint.run(requestId))
    for (const call of calls) {
      attempt('attempts', () => {
        own.insertAttempts(call)
        own.flush()
      })
    }
  }
}

const tasksIn = ({ debits, calls }: Spilled): readonly Task[] => [
  ...debits.map((debit) => ({ kind: 'settle', debit }) as const),
  ...calls.map((call) => ({ kind: 'attempts', calls: call }) as const),
]
