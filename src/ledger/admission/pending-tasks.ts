/**
 * Tasks that the thread was asked and has not answered, by the numbers under which they are sent. The tasks that a dead thread leaves unanswered are asked again. Rules: ledger.md
 * "Twice is once".
 */

import { InFlight } from '../../core/in-flight.ts'
import { type Answer, type NumberedTask, type Task, unavailable } from '../task.ts'
import type { Committed } from '../thread-messages.ts'

/** `indeterminate`: a thread died with the task and may have committed it, so that an `unavailable` now does not say that nothing was written. */
export type Heard = Readonly<{ task: Task; answer: Answer; failure: 'certain' | 'indeterminate' }>

export type Pending = { readonly task: Task; readonly resolve: (answer: Answer) => void; sends: number }

type Taken = Readonly<{ taken: readonly Pending[]; heard: readonly Heard[] }>

/** A task with which this many threads have died is answered `unavailable`. */
const SENDS_MAX = 3

export class PendingTasks {
  readonly #pending = new InFlight<number, Pending>()
  readonly #sendsMax: number
  #lastNumber = 0

  constructor(sendsMax = SENDS_MAX) {
    this.#sendsMax = sendsMax
  }

  add(pending: Pending): number {
    const number = ++this.#lastNumber
    this.#pending.set(number, pending)
    return number
  }

  noteSent(number: number): void {
    const pending = this.#pending.get(number)
    if (pending !== undefined) pending.sends++
  }

  /** Removes the pending tasks of these answers, and returns them with the answers in the same order. */
  takeAnswered({ settled, answers }: Pick<Committed, 'settled' | 'answers'>): Taken {
    const taken: Pending[] = []
    const heard: Heard[] = []
    const hear = (number: number, answer: Answer): void => {
      const pending = this.#pending.take(number)
      if (pending === undefined) return
      taken.push(pending)
      heard.push(heardBy(pending, answer))
    }
    for (const number of settled) hear(number, 'settled')
    for (const { number, answer } of answers) hear(number, answer)
    return { taken, heard }
  }

  /** Removes and returns the tasks with which too many threads died. */
  takeWorn(): readonly Pending[] {
    const worn = [...this.#pending.entries()].filter(([, { sends }]) => sends >= this.#sendsMax)
    for (const [number] of worn) this.#pending.delete(number)
    return worn.map(([, pending]) => pending)
  }

  take(numbers: readonly number[]): readonly Pending[] {
    return numbers.map((number) => this.#pending.take(number)).filter((pending) => pending !== undefined)
  }

  takeAll(): readonly Pending[] {
    const all = [...this.#pending.values()]
    this.#pending.clear()
    return all
  }

  /** All pending tasks, in the order in which they were asked. */
  tasks(): NumberedTask[] {
    return [...this.#pending.entries()].map(([number, { task }]) => ({ number, task }))
  }
}

/** A task that was asked again after a thread's death is indeterminate: the dead thread may have committed it without acknowledging it. */
const heardBy = ({ task, sends }: Pending, answer: Answer): Heard => ({ task, answer, failure: sends <= 1 ? 'certain' : 'indeterminate' })

/** The answer to a task that is kept elsewhere, because no thread can be had. */
export const keptBy = ({ task, sends }: Pending): Heard => ({
  task,
  answer: task.kind === 'attempts' ? 'recorded' : 'spilled',
  failure: sends > 0 ? 'indeterminate' : 'certain',
})

/** The refusal of a task that no thread will answer. If no thread ever had the task, it is certain that nothing was written. */
export const refusalOf = ({ task, sends }: Pending): Heard => ({
  task,
  answer: unavailable(task),
  failure: sends > 0 ? 'indeterminate' : 'certain',
})
