/**
 * The thread that writes, as the gateway asks it: numbered tasks, those of one turn in one message, each answered after its commit. A thread that dies is
 * started again and asked again: every write is the same by its id when it comes twice. Rules: ledger.md "Group commit", "Twice is once".
 */

import type { PriceVersion } from '../columns/parts.ts'
import { fitsRecord, writeDebits } from '../debit-records.ts'
import {
  type Answer,
  type Answers,
  type Committed,
  type Debit,
  isLease,
  type Loss,
  type Numbered,
  type NumberedTask,
  type Opened,
  type OpenProblem,
  type Task,
  unavailable,
} from '../task.ts'
import { type Heard, type Pending, PendingTasks, refusalOf } from './pending-tasks.ts'
import type { FromSupervisor } from './store-supervisor.ts'
import type { ThreadHandle, WriterOptions } from './thread-handle.ts'

export type WriterListener = Readonly<{
  /** All price versions that tasks name by their place; the list only grows. */
  prices(): readonly PriceVersion[]
  /** In the turn in which the answers came, before the callers get them. `committed` is absent where no thread could be asked. */
  onAnswers(heard: readonly Heard[], committed?: Committed): void
  /** A thread has opened a file that an earlier run, or an earlier thread, did not close. */
  onLeftOpen(): void
  /** These requests, whose settle was answered `spilled`, have their receipt now. */
  onReplayed(requestIds: readonly string[]): void
  /** How the committed rows can be had while the ledger is not at its place. */
  rescueHint(loss: Loss): string
  onWalCheckpointDue(): void
  /** Another thread has taken over and is being asked again; what is told or asked now comes behind that. Ends when the wallets are as the rows behind it are. */
  onTakeOver(): Promise<void>
}>

const RESTART_PAUSE_MS = 500

export class Writer {
  readonly #options: WriterOptions
  readonly #listener: WriterListener
  readonly #pending: PendingTasks
  #outbox: NumberedTask[] = []
  #pricesTold = 0
  #thread: ThreadHandle | undefined
  #isOpen = false
  #restarting: Promise<void> | undefined
  #isWritable = false
  #loss: Loss | undefined
  #closing: PromiseWithResolvers<void> | undefined
  /** Ends when the wallets have what a dead thread committed and did not tell. */
  #walletsRead: Promise<void> = Promise.resolve()
  /** Ends when the last answer to an operator that waits for the wallets has left; undefined: none waits. */
  #operatorsAnswered: Promise<void> | undefined

  constructor(options: WriterOptions, listener: WriterListener) {
    this.#options = options
    this.#pending = new PendingTasks(options.sendsMax)
    this.#listener = listener
  }

  /** Opens the file in a new thread. Once. */
  start(): Promise<Opened | OpenProblem> {
    return this.#open()
  }

  /** False while commits fail, no thread can be had, or the files at the path are not those that are open. */
  get isWritable(): boolean {
    return this.#isWritable && this.#loss === undefined
  }

  /** Why the ledger at the path is not the one that is open; undefined: it is. */
  get lost(): string | undefined {
    return this.#loss?.problem
  }

  /** One writes, or opens the ledger for it. */
  get hasThread(): boolean {
    return this.#thread !== undefined
  }

  get isClosing(): boolean {
    return this.#closing !== undefined
  }

  /** The answer's type follows from the task's: the thread answers each kind in kind. */
  ask<K extends Task['kind']>(task: Extract<Task, { kind: K }>): Promise<Answers[K]> {
    const { promise, resolve } = Promise.withResolvers<Answer>()
    const pending = { task, resolve, sends: 0 }
    if (this.#thread === undefined || this.#closing !== undefined) this.#refuse([pending])
    else this.#send(task, this.#pending.add(pending))
    return promise as Promise<Answers[K]>
  }

  /** No caller waits for the answer. */
  tell(task: Task): void {
    if (this.#thread !== undefined && this.#closing === undefined) this.#send(task, 0)
  }

  /** Passes a supervisor's message on, which has no answer. A thread that starts later opens the place as it is then. */
  post(message: FromSupervisor): void {
    if (this.#isOpen) this.#thread?.post(message)
  }

  /** Commits what was asked and closes the file. `before` happens in between: nothing is asked any more, and all is sent. */
  async close(before: () => Promise<void>): Promise<void> {
    this.#closing = Promise.withResolvers()
    // A thread that is just opening would take the end before what is asked of it.
    await this.#restarting
    this.#flush()
    await before()
    if (this.#thread === undefined) this.#closing.resolve()
    else this.#thread.post({ kind: 'close' })
    await this.#closing.promise
    this.#isWritable = false
    this.#thread?.terminate()
    this.#thread = undefined
    this.#refuseAll()
  }

  #send(task: Task, number: number): void {
    this.#outbox.push({ number, task })
    // Not a microtask: each socket that had something to say is a task of its own, and a message wakes the thread.
    if (this.#outbox.length === 1) setImmediate(() => this.#flush())
  }

  #flush(): void {
    const tasks = this.#outbox
    if (tasks.length === 0 || this.#thread === undefined || !this.#isOpen) return
    this.#outbox = []
    const debits: Numbered<{ debit: Debit }>[] = []
    const leases: NumberedTask[] = []
    const others: NumberedTask[] = []
    for (const numbered of tasks) {
      const { number, task } = numbered
      this.#pending.noteSent(number)
      if (task.kind === 'settle' && fitsRecord(task.debit)) debits.push({ number, debit: task.debit })
      else if (isLease(task)) leases.push(numbered)
      else others.push(numbered)
    }
    const prices = this.#listener.prices().slice(this.#pricesTold)
    this.#pricesTold += prices.length
    this.#thread.post({ kind: 'tasks', tasks: others, debits: writeDebits(debits), prices })
    // Settles stand behind the other tasks of their message, and leases must stand behind them.
    if (leases.length > 0) this.#thread.post({ kind: 'tasks', tasks: leases, debits: writeDebits([]), prices: [] })
  }

  async #open(): Promise<Opened | OpenProblem> {
    const thread = this.#options.enter({
      onCommitted: (committed) => this.#onCommitted(committed),
      onLost: (loss) => this.#onLost(loss),
      onWalCheckpointDue: () => this.#listener.onWalCheckpointDue(),
      onClosed: () => this.#closing?.resolve(),
      onEnd: () => {
        if (this.#thread === thread && this.#isOpen) this.#onDeath()
      },
    })
    this.#thread = thread
    this.#isOpen = false
    this.#pricesTold = 0
    this.#loss = undefined
    const opened = await thread.opened
    this.#isOpen = 'recovered' in opened
    if ('recovered' in opened) {
      this.#isWritable = true
      this.#listener.onReplayed(opened.replayed)
      if (opened.wasLeftOpen) this.#listener.onLeftOpen()
    } else {
      thread.terminate()
      this.#thread = undefined
    }
    return opened
  }

  #onLost(loss: Loss | undefined): void {
    this.#loss = loss
    const problem = loss === undefined ? 'the ledger is at its path again' : `${loss.problem}: ${this.#listener.rescueHint(loss)}`
    this.#options.onFault({ problem })
  }

  #onCommitted(committed: Committed): void {
    for (const fault of committed.faults) this.#options.onFault(fault)
    this.#isWritable = committed.isWritable
    this.#listener.onReplayed(committed.replayed ?? [])
    const { taken, heard } = this.#pending.takeAnswered(committed)
    this.#listener.onAnswers(heard, committed)
    taken.forEach(({ resolve }, index) => {
      const { task, answer, failure } = heard[index] as Heard
      if (task.kind === 'operate') this.#answerOperator(() => resolve(answer), failure === 'indeterminate')
      else resolve(answer)
    })
  }

  /**
   * A thread that died may have committed an indeterminate write: then only the rows have it, and the requests that follow its answer must find it in the wallets. The
   * answers to later writes wait behind it, since what is told last is what holds.
   */
  #answerOperator(answer: () => void, isIndeterminate: boolean): void {
    const earlier = this.#operatorsAnswered
    if (!isIndeterminate && earlier === undefined) {
      answer()
      return
    }
    const answered = Promise.all([isIndeterminate ? this.#walletsRead : undefined, earlier]).then(() => {
      if (this.#operatorsAnswered === answered) this.#operatorsAnswered = undefined
      answer()
    })
    this.#operatorsAnswered = answered
  }

  #onDeath(): void {
    this.#isOpen = false
    if (this.#closing !== undefined) {
      this.#closing.resolve()
      return
    }
    const { onFault, writes = 'ledger thread' } = this.#options
    onFault({ problem: `${writes}: it ended; starting another` })
    this.#restarting = this.#restart().catch((bug: unknown) => onFault({ problem: `${writes}: its restart failed by a bug`, bug }))
  }

  /** Tasks asked meanwhile wait for the new thread; when that cannot open the file, they are answered `unavailable` and the next attempt follows. */
  async #restart(): Promise<void> {
    this.#refuse(this.#pending.takeWorn())
    const opened = await this.#open()
    if ('recovered' in opened) {
      this.#outbox = this.#pending.tasks()
      // In a message before what follows: the settles of a message stand behind its other tasks.
      this.#flush()
      this.#walletsRead = this.#listener.onTakeOver()
      return
    }
    this.#isWritable = false
    this.#refuseAll()
    this.#options.onFault({ problem: `${this.#options.writes ?? 'ledger thread'}: ${opened.message}` })
    if (this.#closing !== undefined) return
    await Bun.sleep(RESTART_PAUSE_MS)
    if (this.#closing === undefined) await this.#restart()
  }

  #refuseAll(): void {
    this.#outbox = []
    this.#refuse(this.#pending.takeAll())
  }

  #refuse(refused: readonly Pending[]): void {
    this.#listener.onAnswers(refused.map(refusalOf))
    for (const { task, resolve } of refused) resolve(unavailable(task))
  }
}
