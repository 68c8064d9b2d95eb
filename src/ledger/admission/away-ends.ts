/**
 * Ends of requests that wait while no writer can be had: after a time, which is as long as a failing write is tried, they are kept in a spill of this process and count as done.
 * Rules: processes.md "Death"; ledger.md "Spill".
 */

import type { PriceVersion } from '../columns/parts.ts'
import { fitsRecord } from '../debit-records.ts'
import type { Task } from '../task.ts'
import type { Pending, PendingTasks } from './pending-tasks.ts'

/** What may not be lost with this process. */
type AwayEnd = Extract<Task, { kind: 'settle' | 'attempts' }>

/** `keep`: flushes these tasks to a disk; false: none is kept. `versionAt`: the price version that tasks name by this place. */
export type Away = Readonly<{ afterMs: number; keep: (tasks: readonly AwayEnd[], versionAt: (index: number) => PriceVersion) => boolean }>

type Around = Readonly<{ pending: PendingTasks; prices: () => readonly PriceVersion[]; onKept: (kept: readonly Pending[]) => void }>

const LOOK_MS = 50

export class AwayEnds {
  readonly #away: Away | undefined
  readonly #around: Around
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(away: Away | undefined, around: Around) {
    this.#away = away
    this.#around = around
  }

  /** To be called when the writer is lost. */
  begin(): void {
    const away = this.#away
    if (away !== undefined) this.#timer ??= setTimeout(() => this.#look(away), away.afterMs)
  }

  /** To be called when there is a writer again. */
  end(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #look(away: Away): void {
    const { pending, prices, onKept } = this.#around
    const versionAt = (index: number): PriceVersion => prices()[index] as PriceVersion
    this.#timer = setTimeout(() => this.#look(away), LOOK_MS)
    const ends = pending.tasks().flatMap(({ number, task }) => (isEnd(task) ? [{ number, task }] : []))
    if (
      ends.length === 0 ||
      !away.keep(
        ends.map(({ task }) => task),
        versionAt,
      )
    )
      return
    onKept(pending.take(ends.map(({ number }) => number)))
  }
}

const isEnd = (task: Task): task is AwayEnd => (task.kind === 'settle' ? fitsRecord(task.debit) : task.kind === 'attempts')
