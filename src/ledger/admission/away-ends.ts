/**
 * Ends of requests that wait while no writer can be had: after a time, which is as long as a failing write is tried, they are kept in a spill of this process and count as done.
 * Where the spill cannot keep them either, they are refused after a further time. Rules: processes.md "Death"; ledger.md "Spill".
 */

import type { PriceVersion } from '../columns/parts.ts'
import { fitsRecord } from '../debit-records.ts'
import type { Numbered, Task } from '../task.ts'
import { type Heard, keptBy, type Pending, type PendingTasks, refusalOf } from './pending-tasks.ts'

/** What may not be lost with this process. */
type AwayEnd = Extract<Task, { kind: 'settle' | 'attempts' }>

/** `keep`: flushes these tasks to a disk; false: none is kept. `versionAt`: the price version that tasks name by this place. */
export type Away = Readonly<{ afterMs: number; keep: (tasks: readonly AwayEnd[], versionAt: (index: number) => PriceVersion) => boolean }>

/** `answer`: tells the ends that they are kept, or that they are not. */
type Around = Readonly<{
  pending: PendingTasks
  prices: () => readonly PriceVersion[]
  answer: (ends: readonly Pending[], heardOf: (end: Pending) => Heard) => void
}>

const LOOK_MS = 50
/** How long the spill may fail: the writer may be back soon, and then the ends are written. */
const REFUSE_AFTER_MS = 10_000

export class AwayEnds {
  readonly #away: Away | undefined
  readonly #around: Around
  #timer: ReturnType<typeof setTimeout> | undefined
  #refusesFromMs = Number.POSITIVE_INFINITY

  constructor(away: Away | undefined, around: Around) {
    this.#away = away
    this.#around = around
  }

  /** To be called when the writer is lost. */
  begin(): void {
    const away = this.#away
    if (away === undefined || this.#timer !== undefined) return
    this.#refusesFromMs = performance.now() + away.afterMs + REFUSE_AFTER_MS
    this.#timer = setTimeout(() => this.#look(away), away.afterMs)
  }

  /** To be called when there is a writer again. */
  end(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** To be called when there will be no writer any more. */
  last(): void {
    this.end()
    if (this.#away !== undefined) this.#keep(this.#away)
  }

  #look(away: Away): void {
    this.#timer = setTimeout(() => this.#look(away), LOOK_MS)
    if (this.#keep(away) || performance.now() < this.#refusesFromMs) return
    this.#around.answer(this.#around.pending.take(this.#ends().map(({ number }) => number)), refusalOf)
  }

  /** False: there are ends, and none of them is kept. */
  #keep(away: Away): boolean {
    const { pending, prices, answer } = this.#around
    const ends = this.#ends()
    const versionAt = (index: number): PriceVersion => prices()[index] as PriceVersion
    const tasks = ends.map(({ task }) => task)
    if (ends.length === 0) return true
    if (!away.keep(tasks, versionAt)) return false
    answer(pending.take(ends.map(({ number }) => number)), keptBy)
    return true
  }

  #ends(): readonly Numbered<{ task: AwayEnd }>[] {
    return this.#around.pending.tasks().flatMap(({ number, task }) => (isEnd(task) ? [{ number, task }] : []))
  }
}

const isEnd = (task: Task): task is AwayEnd => (task.kind === 'settle' ? fitsRecord(task.debit) : task.kind === 'attempts')
