/**
 * Group commit, the thread's side: whatever has arrived is committed at once, and acknowledged after that. A commit that fails is tried again for a short
 * time; then its tasks are answered `unavailable`, and the ledger counts as unwritable until a commit works. Tasks whose rows another transaction keeps locked wait
 * separately, and no other task waits with them. Rules: ledger.md "Group commit", "Failing writes", "Settles on Postgres".
 */

import type { PriceVersion } from '../columns/parts.ts'
import { isRead, isWrite, type NumberedTask, type Task, unavailable } from '../task.ts'
import type { Committed } from '../thread-messages.ts'
import { type AnswersByAsker, answersTo, byAsker, NO_ANSWERS } from './answers-by-asker.ts'
import { faultOfHeld, HeldTasks } from './held-tasks.ts'
import type { Spill } from './spill.ts'
import { canSpill } from './spill-records.ts'
import { SpillReplay } from './spill-replay.ts'
import type { NotApplied, Store } from './store.ts'

/** Bounds how long the first task of a flood waits for its acknowledgement. */
const TASKS_PER_COMMIT_MAX = 1_024
const RETRY_PAUSE_MS = 50
const PROBE_PAUSE_MS = 200

export class CommitLoop {
  readonly #ledger: Store
  readonly #tell: (committed: Committed) => void
  readonly #retryMs: number
  readonly #spill: Spill
  readonly #spillReplay: SpillReplay
  #queue: NumberedTask[] = []
  readonly #held = new HeldTasks()
  #again: ReturnType<typeof setTimeout> | undefined
  #isScheduled = false
  #isWritable = true
  #firstFailureMs: number | undefined
  #lastProblem = ''
  /** Whether the last failure was a fence: the loop then waits until its process is a node again, which may take long. */
  #isFenced = false
  #probing: ReturnType<typeof setTimeout> | undefined

  /** `retryMs`: how long a failing commit is tried again; then what may not be lost goes into `spill`. At the start the spill has at most what locks keep out of the ledger. */
  constructor(ledger: Store, spill: Spill, tell: (committed: Committed) => void, retryMs: number) {
    this.#spill = spill
    this.#ledger = ledger
    this.#tell = tell
    this.#retryMs = retryMs
    this.#spillReplay = new SpillReplay(spill)
    this.#lookAgain()
  }

  add(tasks: readonly NumberedTask[], prices: readonly PriceVersion[] = []): void {
    this.#ledger.define(prices)
    this.#queue.push(...tasks)
    if (this.#firstFailureMs === undefined) this.#schedule()
  }

  /** Whether everything that was acknowledged is in the ledger. */
  get isSpillEmpty(): boolean {
    return this.#spill.isEmpty
  }

  /** Whether every task is answered. */
  get isIdle(): boolean {
    return this.#queue.length === 0 && this.#held.isEmpty
  }

  /** Looks whether the server has everything that was acknowledged, also while no task asks for a write. */
  lookOver(): void {
    if (this.#firstFailureMs === undefined) this.#commit([])
  }

  /** Commits what is left and closes the ledger. What cannot be committed now is answered `unavailable`. */
  close(): void {
    do {
      const batch = this.#takeBatch()
      if (batch.length > 0 && !this.#commit(batch)) this.#keepOrRefuse(batch)
    } while (this.#queue.length > 0)
    if (!this.#held.isEmpty) this.#keepOrRefuse([...this.#held.all()])
    clearTimeout(this.#probing)
    clearTimeout(this.#again)
    this.#spillReplay.hasten()
    this.#replay()
    this.#spill.close()
    this.#ledger.close()
  }

  /** The commit comes after the messages that wait in this turn, so that these share it. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#flush()
    })
  }

  #flush(): void {
    const batch = this.#takeBatch()
    if (batch.length > 0 && !this.#commit(batch)) {
      this.#afterFailure(batch)
      return
    }
    if (this.#queue.length > 0) this.#schedule()
    // What failed is done, though no write was among it: while this stands, what comes is not scheduled.
    else this.#firstFailureMs = undefined
    this.#keepLongHeld()
    this.#lookAgain()
  }

  #takeBatch(): NumberedTask[] {
    const batch = [...this.#held.all(), ...this.#queue.slice(0, TASKS_PER_COMMIT_MAX)]
    this.#queue = this.#queue.slice(TASKS_PER_COMMIT_MAX)
    return batch
  }

  #commit(batch: readonly NumberedTask[]): boolean {
    // The spill is replayed first: a lease must not grant what settles in the spill have spent.
    if (batch.some(({ task }) => !isRead(task)) && !this.#replay()) return false
    const writes = batch.some(({ task }) => isWrite(task))
    const startedMs = performance.now()
    const applied = this.#ledger.apply(
      batch.map(({ task }) => task),
      this.#spillReplay.unsettled,
    )
    const commitMs = performance.now() - startedMs
    if (applied.kind === 'failed') {
      this.#noteFailure(applied)
      return false
    }
    // Reads and refused leases do not prove that the storage takes writes, so they must not restart the time for which writes are tried again.
    if (writes) {
      this.#firstFailureMs = undefined
      this.#isWritable = true
    }
    const { changes, faults, news } = applied
    this.#tellEach(answersTo(batch, applied, this.#spill), {
      changes,
      faults,
      ...(news === undefined ? {} : { news }),
      ...(writes ? { commitMs, groupSize: batch.length } : {}),
    })
    this.#held.note(batch, applied.held)
    this.#ledger.tidy()
    return true
  }

  /**
   * Reads need no commit and are answered now, also those behind this group, except those that settles change, which stay behind the writes that were sent before them.
   * Writes wait for the next attempt, or are given up.
   */
  #afterFailure(batch: readonly NumberedTask[]): void {
    const reads = [...batch, ...this.#queue].filter(isFree)
    this.#queue = this.#queue.filter((asked) => !isFree(asked))
    const behindWrites = batch.filter(({ task }) => isChangedBySettles(task))
    const writes = batch.filter(({ task }) => !isRead(task))
    this.#held.forgetAll()
    // The time is noted before the reads, which may themselves wait for the storage.
    this.#firstFailureMs ??= performance.now()
    this.#read(reads)
    if (this.#isWritable && !this.#isFenced && performance.now() - this.#firstFailureMs < this.#retryMs) {
      this.#queue = [...writes, ...behindWrites, ...this.#queue]
      setTimeout(() => this.#flush(), RETRY_PAUSE_MS)
      return
    }
    this.#firstFailureMs = undefined
    this.#keepOrRefuse(writes)
    this.#read(behindWrites)
    if (this.#queue.length > 0) this.#schedule()
    this.#probe()
  }

  /** A storage that cannot even be read is not asked again: a caller that waits would wait for ever. */
  #read(reads: readonly NumberedTask[]): void {
    if (reads.length > 0 && !this.#commit(reads))
      this.#tellEach(
        byAsker(reads, ({ task }) => unavailable(task)),
        {},
      )
  }

  #noteFailure({ problem, isFenced }: NotApplied): void {
    this.#lastProblem = problem
    this.#isFenced = isFenced === true
  }

  /** Spills tasks that a lock has held up for `retryMs`, the time for which a client waits for a failing storage. */
  #keepLongHeld(): void {
    const long = this.#held.takeLong(this.#retryMs)
    if (long.length === 0) return
    const answers = this.#keep(long)
    this.#tellEach(answers, { faults: this.#spillReplay.noteLocked().map(faultOfHeld) })
  }

  /** Tells each relay the answers to its tasks. The thread's own process also hears everything else, even if it asked nothing. */
  #tellEach(answers: AnswersByAsker, own: Partial<Committed>): void {
    const state = { isWritable: this.#isWritable, spillBytes: this.#spill.bytes }
    for (const [to, some] of answers) if (to !== undefined) this.#tell({ ...NOTHING, ...some, ...state, to })
    this.#tell({ ...NOTHING, ...answers.get(undefined), ...own, ...state })
  }

  /** Tries again what locks held up, also while no task asks for a write. What storage that does not work has put into the spill is the probe's. */
  #lookAgain(): void {
    if (this.#again !== undefined || (this.#held.isEmpty && (this.#spill.isEmpty || !this.#isWritable))) return
    this.#again = setTimeout(() => {
      this.#again = undefined
      if (this.#firstFailureMs !== undefined) return
      if (!this.#held.isEmpty) this.#flush()
      else if (this.#isWritable) this.#replay()
      this.#lookAgain()
    }, RETRY_PAUSE_MS)
  }

  /** Replays the spill. True: it is empty, or has only what another transaction's lock keeps out of the ledger. */
  #replay(): boolean {
    const replayed = this.#spillReplay.replay()
    if (replayed === undefined) return true
    if (replayed.kind === 'failed') {
      this.#noteFailure(replayed)
      return replayed.isHeld === true
    }
    const { settled, faults } = replayed
    this.#tellEach(NO_ANSWERS, { faults, replayed: settled })
    return true
  }

  /** Spills what may not be lost, and acknowledges it. A settle is answered `unavailable` only if the spill could not keep it; all other writes are. */
  #keepOrRefuse(batch: readonly NumberedTask[]): void {
    const wasWritable = this.#isWritable
    this.#isWritable = false
    this.#spillReplay.hasten()
    this.#held.forget(batch)
    this.#tellEach(this.#keep(batch), { faults: wasWritable ? [{ problem: `commit: ${this.#lastProblem}` }] : [] })
  }

  #keep(batch: readonly NumberedTask[]): AnswersByAsker {
    const isKept = this.#spill.keep(batch.map(({ task }) => task))
    return byAsker(batch, ({ task }) => (isKept && isSpilled(task) ? 'spilled' : unavailable(task)))
  }

  /** Looks whether the storage works again, also while no task asks for a write. */
  #probe(): void {
    if (this.#probing !== undefined) return
    this.#probing = setTimeout(() => {
      this.#probing = undefined
      if (this.#isWritable) return
      if (!this.#ledger.canWrite() || !this.#replay()) return this.#probe()
      this.#isWritable = true
      this.#tellEach(NO_ANSWERS, {})
      this.#lookAgain()
    }, PROBE_PAUSE_MS)
  }
}

const NOTHING = { kind: 'committed', settled: new Float64Array(), answers: [], changes: [], faults: [] } as const
/** Whether settles change the answer: reads of wallets, and of Idempotency-Keys that are used up. */
const isChangedBySettles = ({ kind }: Task): boolean => kind === 'keyStates' || kind === 'findIdempotency'
/** Reads that settles do not change. */
const isFree = ({ task }: NumberedTask): boolean => isRead(task) && !isChangedBySettles(task)
const isSpilled = (task: Task): boolean => task.kind === 'settle' && canSpill(task)
