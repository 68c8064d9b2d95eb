/**
 * Group commit, the gateway's side: the ledger's port over a Worker. What is asked in one turn travels in one message; answers resolve after the commit.
 * A thread that dies is started again and asked again: every write is the same by its id when it comes twice. Rules: ledger.md "Group commit", "Twice is once".
 */

import type { Usage } from '../core/usage.ts'
import type { HoldAnswer, HoldRequest, KeyChange, Ledger, Settlement } from './ledger.ts'
import type { Operation, OperationResult } from './operation.ts'
import { type Answer, type Answers, type Committed, type Numbered, type OpenProblem, type Task, unavailable } from './task.ts'
import { enterThread, type ThreadHandle, type ThreadOptions } from './thread-handle.ts'

/** `onClosed`: after the file is closed. */
export type GroupCommitOptions = ThreadOptions & Readonly<{ onClosed: () => void }>

type Pending = { task: Task; resolve: (answer: Answer) => void; sends: number }

/** A task that has killed this many threads is answered `unavailable`. */
const SENDS_MAX = 3
const RESTART_PAUSE_MS = 500

export class GroupCommit implements Ledger {
  readonly #options: GroupCommitOptions
  readonly #listeners: ((change: KeyChange) => void)[] = []
  readonly #pending = new Map<number, Pending>()
  /** Requests that were answered `unavailable`: what they may still hold is released, uncharged, when the storage works again. */
  readonly #unreleased = new Set<string>()
  #outbox: Numbered<{ task: Task }>[] = []
  #lastNumber = 0
  #thread: ThreadHandle | undefined
  #isOpen = false
  #isWritable = false
  #closing: PromiseWithResolvers<void> | undefined
  #closed: Promise<void> | undefined

  constructor(options: GroupCommitOptions) {
    this.#options = options
  }

  /** Opens the file in a new thread. Once. */
  start(): Promise<Readonly<{ recovered: number }> | OpenProblem> {
    return this.#open(this.#options.create)
  }

  hold(request: HoldRequest): Promise<HoldAnswer> {
    return this.#askReleasable(request.requestId, { kind: 'hold', request })
  }

  mark(requestId: string, usage: Usage): void {
    if (this.#thread !== undefined) this.#send({ kind: 'mark', requestId, usage, now: this.#options.now() }, 0)
  }

  settle(settlement: Settlement): Promise<Answers['settle']> {
    return this.#askReleasable(settlement.requestId, { kind: 'settle', settlement })
  }

  void(requestId: string): Promise<Answers['void']> {
    return this.#askReleasable(requestId, { kind: 'void', requestId })
  }

  findKey(secretHash: Uint8Array): Promise<Answers['findKey']> {
    return this.#ask({ kind: 'findKey', secretHash })
  }

  balanceOf(keyId: string): Promise<Answers['balanceOf']> {
    return this.#ask({ kind: 'balanceOf', keyId })
  }

  operate(operation: Operation): Promise<OperationResult> {
    return this.#ask({ kind: 'operate', operation })
  }

  onKeyChange(listener: (change: KeyChange) => void): void {
    this.#listeners.push(listener)
  }

  isWritable(): boolean {
    return this.#isWritable
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#releaseLeft()
    this.#closing = Promise.withResolvers()
    this.#flush()
    if (this.#thread === undefined) this.#closing.resolve()
    else this.#thread.post({ kind: 'close' })
    await this.#closing.promise
    this.#isWritable = false
    this.#thread?.terminate()
    this.#thread = undefined
    this.#refusePending()
    this.#options.onClosed()
  }

  async #askReleasable<K extends 'hold' | 'settle' | 'void'>(requestId: string, task: Extract<Task, { kind: K }>): Promise<Answers[K]> {
    this.#unreleased.delete(requestId)
    const answer = await this.#ask<K>(task)
    if (answer === 'unavailable') {
      this.#unreleased.add(requestId)
      if (this.#isWritable) this.#releaseLeft()
    }
    return answer
  }

  /** The answer's type follows from the task's: the thread answers each kind in kind. */
  #ask<K extends Task['kind']>(task: Extract<Task, { kind: K }>): Promise<Answers[K]> {
    const { promise, resolve } = Promise.withResolvers<Answer>()
    if (this.#thread === undefined || this.#closing !== undefined) resolve(unavailable(task))
    else {
      const number = ++this.#lastNumber
      this.#pending.set(number, { task, resolve, sends: 0 })
      this.#send(task, number)
    }
    return promise as Promise<Answers[K]>
  }

  #send(task: Task, number: number): void {
    this.#outbox.push({ number, task })
    if (this.#outbox.length === 1) queueMicrotask(() => this.#flush())
  }

  #flush(): void {
    const tasks = this.#outbox
    if (tasks.length === 0 || this.#thread === undefined || !this.#isOpen) return
    this.#outbox = []
    for (const { number } of tasks) {
      const pending = this.#pending.get(number)
      if (pending !== undefined) pending.sends++
    }
    this.#thread.post({ kind: 'tasks', tasks })
  }

  async #open(create: boolean): Promise<Readonly<{ recovered: number }> | OpenProblem> {
    const thread = enterThread(this.#options, create, {
      onCommitted: (committed) => this.#onCommitted(committed),
      onClosed: () => this.#closing?.resolve(),
      onEnd: () => {
        if (this.#thread === thread && this.#isOpen) this.#onDeath()
      },
    })
    this.#thread = thread
    this.#isOpen = false
    const opened = await thread.opened
    this.#isOpen = 'recovered' in opened
    if (this.#isOpen) this.#isWritable = true
    else {
      thread.terminate()
      this.#thread = undefined
    }
    return opened
  }

  #onCommitted({ answers, changes, faults, isWritable }: Committed): void {
    for (const fault of faults) this.#options.onFault(fault)
    // Before the answers: who awaits an operator's write must not meet the old record afterwards.
    for (const change of changes) for (const listener of this.#listeners) listener(change)
    this.#isWritable = isWritable
    for (const { number, answer } of answers) {
      const pending = this.#pending.get(number)
      if (pending === undefined) continue
      this.#pending.delete(number)
      pending.resolve(pending.sends > 1 ? asFirstAnswer(pending.task, answer) : answer)
    }
    if (isWritable && this.#unreleased.size > 0) this.#releaseLeft()
  }

  #releaseLeft(): void {
    const left = [...this.#unreleased]
    this.#unreleased.clear()
    for (const requestId of left)
      this.#release(requestId).catch((bug: unknown) => this.#options.onFault({ problem: 'a release failed by a bug', bug }))
  }

  /** Once more when the storage fails again; a release that breaks a rule of the database is a bug, and told as one. */
  async #release(requestId: string): Promise<void> {
    const answer = await this.#ask({ kind: 'void', requestId })
    if (answer === 'unavailable' && !this.#isWritable) this.#unreleased.add(requestId)
  }

  #onDeath(): void {
    this.#isOpen = false
    if (this.#closing !== undefined) {
      this.#closing.resolve()
      return
    }
    this.#options.onFault({ problem: 'ledger thread: it ended; starting another' })
    this.#restart().catch((bug: unknown) => this.#options.onFault({ problem: 'ledger thread: its restart failed by a bug', bug }))
  }

  /** What was asked meanwhile waits for the new thread; when that cannot open the file, it is answered `unavailable` and the next attempt follows. */
  async #restart(): Promise<void> {
    for (const [number, { task, sends, resolve }] of this.#pending) {
      if (sends < SENDS_MAX) continue
      this.#pending.delete(number)
      resolve(unavailable(task))
    }
    const opened = await this.#open(false)
    if ('recovered' in opened) {
      this.#outbox = [...this.#pending].map(([number, { task }]) => ({ number, task }))
      return this.#flush()
    }
    this.#isWritable = false
    this.#refusePending()
    this.#options.onFault({ problem: `ledger thread: ${opened.message}` })
    if (this.#closing !== undefined) {
      this.#closing.resolve()
      return
    }
    await Bun.sleep(RESTART_PAUSE_MS)
    if (this.#closing === undefined) await this.#restart()
  }

  #refusePending(): void {
    this.#outbox = []
    for (const { task, resolve } of this.#pending.values()) resolve(unavailable(task))
    this.#pending.clear()
  }
}

/** Asked again after a thread's death, the answer `already` means that the first time was committed but not acknowledged. */
function asFirstAnswer(task: Task, answer: Answer): Answer {
  if (answer !== 'already') return answer
  return task.kind === 'settle' ? 'settled' : 'voided'
}
