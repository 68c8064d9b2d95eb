/**
 * The gateway's side of the thread that writes: tasks are numbered, those of one turn go in one message, and each is answered after its commit. When the thread dies, a new
 * one is started and asked the unanswered tasks again: a write that comes twice is done once, by its id. Rules: ledger.md "Group commit", "Twice is once".
 */

import type { PriceVersion } from '../columns/parts.ts'
import { fitsRecord, writeDebits } from '../debit-records.ts'
import { type Answer, type Answers, type Debit, isLease, type Numbered, type NumberedTask, type Task } from '../task.ts'
import type { Committed, Loss, Opened, OpenProblem } from '../thread-messages.ts'
import { AwayEnds } from './away-ends.ts'
import { type Heard, type Pending, PendingTasks, refusalOf } from './pending-tasks.ts'
import type { FromSupervisor } from './store-supervisor.ts'
import type { ThreadHandle, WriterOptions } from './thread-handle.ts'
import type { WriterListener } from './writer-listener.ts'

const RESTART_PAUSE_MS = 500

export class Writer {
  readonly #options: WriterOptions
  readonly #listener: WriterListener
  readonly #pending: PendingTasks
  readonly #awayEnds: AwayEnds
  #outbox: NumberedTask[] = []
  #pricesTold = 0
  #thread: ThreadHandle | undefined
  #isOpen = false
  #restarting: Promise<void> | undefined
  #isWritable = false
  #loss: Loss | undefined
  #closing: PromiseWithResolvers<void> | undefined
  /** Resolves when the wallets have what a dead thread committed and did not tell. */
  #walletsRead: Promise<void> = Promise.resolve()
  /** Resolves when the last operator's answer that waits for the wallets has left; undefined: none waits. */
  #operatorsAnswered: Promise<void> | undefined

  constructor(options: WriterOptions, listener: WriterListener) {
    this.#options = options
    this.#pending = new PendingTasks(options.sendsMax)
    this.#listener = listener
    const prices = (): readonly PriceVersion[] => listener.prices()
    const answer: ConstructorParameters<typeof AwayEnds>[1]['answer'] = (ends, heardOf) => this.#answer(ends, ends.map(heardOf))
    this.#awayEnds = new AwayEnds(options.away, { pending: this.#pending, prices, answer })
  }

  /** Opens the ledger in a new thread. To be called once. */
  start(): Promise<Opened | OpenProblem> {
    return this.#open()
  }

  /** False while commits fail, no thread can be had, or the files at the path are not those that are open. */
  get isWritable(): boolean {
    return this.#isWritable && this.#loss === undefined
  }

  /** Why the ledger at the path is not the open one; undefined: it is. */
  get lost(): string | undefined {
    return this.#loss?.problem
  }

  /** Whether a thread writes, or opens the ledger in order to write. */
  get hasThread(): boolean {
    return this.#thread !== undefined
  }

  get isClosing(): boolean {
    return this.#closing !== undefined
  }

  /** The answer's type follows from the task's kind. */
  ask<K extends Task['kind']>(task: Extract<Task, { kind: K }>): Promise<Answers[K]> {
    const { promise, resolve } = Promise.withResolvers<Answer>()
    const pending = { task, resolve, sends: 0 }
    if (this.#thread === undefined || this.#closing !== undefined) this.#refuse([pending])
    else this.#send(task, this.#pending.add(pending))
    return promise as Promise<Answers[K]>
  }

  /** Sends a task whose answer no caller waits for. */
  tell(task: Task): void {
    if (this.#thread !== undefined && this.#closing === undefined) this.#send(task, 0)
  }

  /** Passes on a supervisor's message, which has no answer. Without a thread the message is dropped: a thread that starts later opens the place as it is then. */
  post(message: FromSupervisor): void {
    if (this.#isOpen) this.#thread?.post(message)
  }

  /** Commits what was asked and closes the ledger. `before` runs in between, when everything is sent and nothing more is asked. */
  async close(before: () => Promise<void>): Promise<void> {
    this.#closing = Promise.withResolvers()
    // A thread that is still opening the ledger would get `close` before the tasks.
    await this.#restarting
    this.#flush()
    await before()
    if (this.#thread === undefined) this.#closing.resolve()
    else this.#thread.post({ kind: 'close' })
    await this.#closing.promise
    this.#awayEnds.last()
    this.#isWritable = false
    this.#thread?.terminate()
    this.#thread = undefined
    this.#refuseAll()
  }

  #send(task: Task, number: number): void {
    this.#outbox.push({ number, task })
    // A microtask would be too early: each socket with data is a task of the loop, and their tasks should share one message, because each message wakes the thread.
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
    // Within a message the settles come after the other tasks. Leases must come after the settles, so they go in a message of their own.
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
      this.#awayEnds.end()
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
   * A thread that died may have committed an indeterminate write. Only the rows have it then, so its answer waits until the wallets are read: requests that follow the answer
   * must find the write in the wallets. The answers to later writes wait behind it, so that operators hear of their writes in order.
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
    this.#awayEnds.begin()
    const { onFault, writes = 'ledger thread', lost = 'it ended; starting another' } = this.#options
    onFault({ problem: `${writes}: ${lost}` })
    this.#restarting = this.#restart().catch((bug: unknown) => onFault({ problem: `${writes}: its restart failed by a bug`, bug }))
  }

  /** Tasks that are asked meanwhile wait for the new thread. If it cannot open the ledger, they are answered `unavailable`, and the next attempt follows. */
  async #restart(): Promise<void> {
    this.#refuse(this.#pending.takeWorn())
    const opened = await this.#open()
    if ('recovered' in opened) {
      this.#outbox = this.#pending.tasks()
      // These tasks go in a message before those of `onTakeOver`, whose reads would otherwise come before the settles of the same message.
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
    this.#answer(refused, refused.map(refusalOf))
  }

  #answer(answered: readonly Pending[], heard: readonly Heard[]): void {
    this.#listener.onAnswers(heard)
    for (const [index, { resolve }] of answered.entries()) resolve((heard[index] as Heard).answer)
  }
}
