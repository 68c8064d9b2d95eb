/**
 * Group commit, the gateway's side: the ledger's port over the wallets in memory and a Worker that writes. What is asked in one turn travels in one message;
 * answers resolve after the commit. A thread that dies is started again and asked again: every write is the same by its id when it comes twice.
 * Rules: money.md "Holds", "Settle"; ledger.md "Group commit", "Twice is once".
 */

import type { KeyRecord } from '../core/key.ts'
import { Checkpointer } from './checkpointer.ts'
import { fitsRecord, writeDebits } from './debit-records.ts'
import type { Hold, HoldAnswer, HoldRequest, KeyBalance, KeyChange, Ledger, Progress, Settlement } from './ledger.ts'
import type { Operation, OperationResult } from './operation.ts'
import { type Answer, type Answers, type Committed, type Mark, type Numbered, type OpenProblem, type Task, unavailable } from './task.ts'
import { enterThread, type ThreadHandle, type ThreadOptions } from './thread-handle.ts'
import { Wallets } from './wallets.ts'

export type GroupCommitOptions = ThreadOptions &
  Readonly<{
    /** How old a request is when it leaves its first mark on disk. */
    markAfterMs: number
    /** After the file is closed. */
    onClosed: () => void
  }>

type Heard = Readonly<{ pending: Pending; answer: Answer }>
type Pending = { task: Task; resolve: (answer: Answer) => void; sends: number }

/** A task that has killed this many threads is answered `unavailable`. */
const SENDS_MAX = 3
const RESTART_PAUSE_MS = 500
const SWEEP_MS_MAX = 250

export class GroupCommit implements Ledger {
  readonly #options: GroupCommitOptions
  readonly #wallets = new Wallets()
  readonly #checkpointer: Checkpointer
  readonly #listeners: ((change: KeyChange) => void)[] = []
  readonly #pending = new Map<number, Pending>()
  /** The answers to come of settles that were sent, for one that is asked twice. */
  readonly #settles = new Map<string, Promise<Answers['settle']>>()
  /** Ended without a receipt as far as is known: when the storage works again, it says whether that is so, and their marks go. */
  readonly #doubtful = new Set<string>()
  #outbox: Numbered<{ task: Task }>[] = []
  #lastNumber = 0
  #pricesTold = 0
  #thread: ThreadHandle | undefined
  #sweep: ReturnType<typeof setInterval> | undefined
  #isOpen = false
  #isWritable = false
  #closing: PromiseWithResolvers<void> | undefined
  #closed: Promise<void> | undefined

  constructor(options: GroupCommitOptions) {
    this.#options = options
    this.#checkpointer = new Checkpointer(options.path, options.startThread)
  }

  /** Opens the file in a new thread. Once. */
  start(): Promise<Readonly<{ recovered: number }> | OpenProblem> {
    return this.#open(this.#options.create)
  }

  hold(request: HoldRequest): HoldAnswer | Promise<HoldAnswer> {
    const answer = this.#holdInMemory(request)
    return answer === 'unknown' ? this.#loadAndHold(request) : answer
  }

  mark(requestId: string, progress: Progress): void {
    const mark = this.#wallets.mark(requestId, progress)
    if (mark !== undefined) this.#sendMark(mark)
  }

  async settle(settlement: Settlement): Promise<Answers['settle']> {
    const { requestId } = settlement
    const debit = this.#wallets.settle(settlement)
    if (debit === undefined) {
      const first = await this.#settles.get(requestId)
      return first === 'unavailable' ? 'unavailable' : 'already'
    }
    const settled = this.#ask({ kind: 'settle', debit })
    this.#settles.set(requestId, settled)
    const answer = await settled
    this.#settles.delete(requestId)
    return answer
  }

  void(requestId: string): 'voided' | 'already' {
    const voided = this.#wallets.void(requestId)
    if (voided === undefined) return 'already'
    if (voided.isMarked) this.#settleDoubt(requestId)
    return 'voided'
  }

  async findKey(secretHash: Uint8Array): Promise<KeyRecord | undefined | 'unavailable'> {
    const found = await this.#ask({ kind: 'findKey', secretHash })
    return typeof found === 'object' ? found.record : found
  }

  balanceOf(keyId: string): Promise<KeyBalance | undefined | 'unavailable'> {
    return this.#ask({ kind: 'balanceOf', keyId })
  }

  async operate(operation: Operation): Promise<OperationResult> {
    const operated = await this.#ask({ kind: 'operate', operation })
    return operated.result === 'done' ? { result: 'done' } : operated
  }

  onKeyChange(listener: (change: KeyChange) => void): void {
    this.#listeners.push(listener)
  }

  holds(): readonly Hold[] {
    return this.#wallets.holds()
  }

  isWritable(): boolean {
    return this.#isWritable
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    clearInterval(this.#sweep)
    this.#settleDoubts()
    this.#closing = Promise.withResolvers()
    this.#flush()
    await this.#checkpointer.close()
    if (this.#thread === undefined) this.#closing.resolve()
    else this.#thread.post({ kind: 'close' })
    await this.#closing.promise
    this.#isWritable = false
    this.#thread?.terminate()
    this.#thread = undefined
    this.#refusePending()
    this.#options.onClosed()
  }

  #holdInMemory(request: HoldRequest): HoldAnswer | 'unknown' {
    if (!this.#isWritable || this.#closing !== undefined) return 'unavailable'
    const answer = this.#wallets.hold(request, performance.now())
    if (answer === 'held') this.#watchAges()
    return answer
  }

  /** The key had to leave the memory since it was found. What is loaded is there when the answer is awaited, unless the ledger has no such key. */
  async #loadAndHold(request: HoldRequest): Promise<HoldAnswer> {
    const states = await this.#ask({ kind: 'keyStates', keyIds: [request.keyId] })
    if (states === 'unavailable') return 'unavailable'
    const answer = this.#holdInMemory(request)
    return answer === 'unknown' ? 'disabled' : answer
  }

  #watchAges(): void {
    const { markAfterMs } = this.#options
    this.#sweep ??= setInterval(() => this.#markOld(markAfterMs), Math.min(SWEEP_MS_MAX, markAfterMs / 2))
  }

  #markOld(afterMs: number): void {
    for (const mark of this.#wallets.due(performance.now() - afterMs)) this.#sendMark(mark)
    if (!this.#wallets.isIdle) return
    clearInterval(this.#sweep)
    this.#sweep = undefined
  }

  #sendMark(mark: Mark): void {
    if (this.#thread !== undefined) this.#send({ kind: 'mark', mark, now: this.#options.now() }, 0)
  }

  /** The answer's type follows from the task's: the thread answers each kind in kind. */
  #ask<K extends Task['kind']>(task: Extract<Task, { kind: K }>): Promise<Answers[K]> {
    const { promise, resolve } = Promise.withResolvers<Answer>()
    if (this.#thread === undefined || this.#closing !== undefined) {
      const answer = unavailable(task)
      this.#learn(task, answer, 'certain')
      resolve(answer)
    } else {
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
    const prices = this.#wallets.prices.slice(this.#pricesTold)
    this.#pricesTold += prices.length
    const debits = tasks.flatMap(({ number, task }) =>
      task.kind === 'settle' && fitsRecord(task.debit) ? [{ number, debit: task.debit }] : [],
    )
    const others = tasks.filter(({ task }) => task.kind !== 'settle' || !fitsRecord(task.debit))
    this.#thread.post({ kind: 'tasks', tasks: others, debits: writeDebits(debits), prices })
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
    this.#pricesTold = 0
    const opened = await thread.opened
    this.#isOpen = 'recovered' in opened
    if (this.#isOpen) this.#isWritable = true
    else {
      thread.terminate()
      this.#thread = undefined
    }
    return opened
  }

  #onCommitted({ settled, answers, changes, faults, isWritable }: Committed): void {
    for (const fault of faults) this.#options.onFault(fault)
    this.#isWritable = isWritable
    const known: Heard[] = []
    for (const number of settled) this.#hear(number, 'settled', known)
    for (const { number, answer } of answers) this.#hear(number, answer, known)
    // Writes first: a row that was read in the same commit has them in it, and must find them done or no wallet to do them to.
    for (const { pending, answer } of known) this.#learn(pending.task, answer, pending.sends > 1 ? 'doubtful' : 'certain')
    for (const { pending, answer } of known) this.#load(pending.task, answer)
    // Before the answers: who awaits an operator's write must not meet the old record afterwards.
    for (const change of changes) for (const listener of this.#listeners) listener(change)
    for (const { pending, answer } of known) pending.resolve(answer)
    if (isWritable) this.#settleDoubts()
    this.#checkpointer.noteCommit(settled.length)
  }

  #hear(number: number, answer: Answer, known: Heard[]): void {
    const pending = this.#pending.get(number)
    if (pending === undefined) return
    this.#pending.delete(number)
    known.push({ pending, answer: pending.sends > 1 ? asFirstAnswer(pending.task, answer) : answer })
  }

  /** What an answer to a write says of the money in memory, in the very turn in which it came. `doubtful`: a thread died with it, and may have committed it. */
  #learn(task: Task, answer: Answer, failure: 'certain' | 'doubtful'): void {
    switch (task.kind) {
      case 'settle': {
        const { requestId, isMarked } = task.debit
        if (answer === 'settled') {
          this.#wallets.settled(requestId)
          return
        }
        const isCertain = answer === 'already' || failure === 'certain'
        if (isCertain) this.#wallets.putBack(requestId)
        if (!isCertain || isMarked) this.#doubtful.add(requestId)
        return
      }
      case 'unmark':
        if (answer === 'unavailable') this.#doubtful.add(task.requestId)
        else if (answer === 'absent') this.#wallets.putBack(task.requestId)
        else if (this.#wallets.isSettling(task.requestId)) {
          this.#wallets.settled(task.requestId)
          this.#resync()
        }
        return
      case 'operate':
        if (typeof answer === 'object' && 'isNew' in answer) this.#wallets.apply(task.operation, answer.isNew)
        return
      case 'mark':
      case 'findKey':
      case 'keyStates':
      case 'balanceOf':
    }
  }

  #load(task: Task, answer: Answer): void {
    if (typeof answer !== 'object') return
    if (task.kind === 'findKey' && 'state' in answer) this.#wallets.load(answer.state)
    if (task.kind !== 'keyStates' || !Array.isArray(answer)) return
    this.#wallets.resync(answer)
    for (const state of answer) this.#wallets.load(state)
  }

  #settleDoubts(): void {
    for (const requestId of [...this.#doubtful]) this.#settleDoubt(requestId)
  }

  #settleDoubt(requestId: string): void {
    this.#doubtful.delete(requestId)
    this.#ask({ kind: 'unmark', requestId }).catch((bug: unknown) =>
      this.#options.onFault({ problem: 'an end in doubt failed by a bug', bug }),
    )
  }

  #resync(): void {
    const keyIds = this.#wallets.keyIds()
    this.#ask({ kind: 'keyStates', keyIds }).catch((bug: unknown) =>
      this.#options.onFault({ problem: 'reading the wallets again failed by a bug', bug }),
    )
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
    const worn = [...this.#pending].filter(([, { sends }]) => sends >= SENDS_MAX)
    for (const [number, pending] of worn) this.#refuse(number, pending)
    const opened = await this.#open(false)
    if ('recovered' in opened) {
      this.#outbox = [...this.#pending].map(([number, { task }]) => ({ number, task }))
      for (const mark of this.#wallets.marks()) this.#sendMark(mark)
      this.#settleDoubts()
      // Behind all these: what the dead thread had committed and not said is in the rows.
      this.#resync()
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
    for (const [number, pending] of this.#pending) this.#refuse(number, pending)
  }

  #refuse(number: number, pending: Pending): void {
    this.#pending.delete(number)
    const answer = unavailable(pending.task)
    this.#learn(pending.task, answer, pending.sends > 0 ? 'doubtful' : 'certain')
    pending.resolve(answer)
  }
}

/** Asked again after a thread's death, the answer `already` means that the first time was committed but not acknowledged. */
const asFirstAnswer = (task: Task, answer: Answer): Answer => (task.kind === 'settle' && answer === 'already' ? 'settled' : answer)
