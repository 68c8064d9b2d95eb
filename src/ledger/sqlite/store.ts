/** The ledger over a SQLite file: what a file has in addition to `GroupWrites`. Rules: ledger.md "Group commit", "Pages", "A ledger that vanishes". */

import type { Database, Statement } from 'bun:sqlite'
import { ne } from 'drizzle-orm'
import { keepLog, proveWritable } from '../../../db/open.ts'
import { marks } from '../../../db/schema/requests.ts'
import type { PriceVersion } from '../columns/parts.ts'
import { HOURS_BATCH, HourSums } from '../sql/hour-sums.ts'
import { type Answer, isLease, type Task } from '../task.ts'
import { GroupWrites } from '../writing/group-writes.ts'
import { prepareOrphanedCheckpoints } from '../writing/orphaned-checkpoints.ts'
import type { Spilled } from '../writing/spill-records.ts'
import type { Applied, NotApplied, Replayed, RolledUp, Store } from '../writing/store.ts'
import { SqliteEngine } from './engine.ts'
import { Generations } from './generation.ts'
import { type LogProgress, ProgressOfLog } from './log-progress.ts'
import { moveLog } from './long-log.ts'
import { PageTable } from './page-table.ts'
import { type Position, positionOf } from './position.ts'
import type { SqliteRelays } from './relays.ts'
import { isStorageFailure } from './storage-failure.ts'

/** How many commits, or settles, come between two WAL checkpoints: about four megabytes of log, since a commit writes about eight pages, and a receipt a third of one. */
const COMMITS_BETWEEN = 120
const SETTLES_BETWEEN = 3_000

export class SqliteStore implements Store {
  readonly generations: Generations
  readonly #db: Database
  readonly #engine: SqliteEngine
  readonly #writes: GroupWrites
  readonly #pages: PageTable
  readonly #hours: HourSums
  readonly #lastReceipt: Statement<{ last: bigint }, []>
  readonly #orphaned: ReturnType<typeof prepareOrphanedCheckpoints>
  readonly #progressOfLog: ProgressOfLog
  #position: Position
  #progress: LogProgress = { frames: 0, moved: 0 }
  #isOpen = true
  /** Why the store writes nothing any more; undefined: it writes. */
  #refused: string | undefined
  #commits = 0
  #settles = 0
  #checkpoint: () => void = () => undefined
  /** The time of the last settle, in Unix milliseconds. */
  #now: number

  /** `db` is a writer's connection from db/open.ts. Writes the boot of this process into the file. `now`: Unix milliseconds; `clock`: by which relays are granted leases. Throws what SQLite says. */
  constructor(db: Database, bootId: string, now: number, clock: () => number = Date.now) {
    this.#db = db
    this.generations = new Generations(db)
    this.#progressOfLog = new ProgressOfLog(db)
    this.#position = positionOf(db)
    this.#engine = new SqliteEngine(db, this.#position.ledger, bootId, now, clock)
    this.#writes = new GroupWrites(this.#engine)
    this.#pages = new PageTable(db)
    this.#hours = new HourSums(db)
    this.#lastReceipt = db.prepare('SELECT coalesce(max(number), 0) AS last FROM receipts')
    this.#orphaned = prepareOrphanedCheckpoints(db, ne(marks.bootNumber, this.#engine.boot), -1)
    this.#now = now
  }

  get id(): string {
    return this.position.ledger
  }

  /** The position after the last commit. After `close`, and while the storage cannot say, the last known one. */
  get position(): Position {
    if (this.#isOpen) this.#notePosition()
    return this.#position
  }

  #notePosition(): void {
    try {
      this.#position = positionOf(this.#db)
    } catch (error) {
      if (!isStorageFailure(error)) throw error
    }
  }

  /** The log's progress; while the storage cannot say, the last known one. */
  get progress(): LogProgress {
    try {
      this.#progress = this.#progressOfLog.read()
    } catch (error) {
      if (!isStorageFailure(error)) throw error
    }
    return this.#progress
  }

  get boot(): number {
    return this.#engine.boot
  }

  get relays(): SqliteRelays {
    return this.#engine.relays
  }

  define(prices: readonly PriceVersion[]): void {
    this.#writes.numbers.define(prices)
  }

  versionAt(index: number): PriceVersion {
    return this.#writes.numbers.versionAt(index)
  }

  /** Sets what is called when a WAL checkpoint is due, after enough commits or settles that were answered. */
  onWalCheckpointDue(checkpoint: () => void): void {
    this.#checkpoint = checkpoint
  }

  apply(tasks: readonly Task[], unsettled?: ReadonlySet<number>): Applied | NotApplied {
    if (this.#refused !== undefined) return { kind: 'failed', problem: this.#refused }
    const applied = tasks.some(isLease) ? this.#applyWithLeases(tasks, unsettled) : this.#applyNoLease(tasks)
    if (applied.kind === 'failed') return applied
    const settles = applied.answers.reduce((count: number, answer) => (answer === 'settled' ? count + 1 : count), 0)
    this.#pages.noteReceipts(settles)
    this.#hours.noteReceipts(settles)
    this.#settles += settles
    this.#commits++
    const last = tasks.findLast((task) => task.kind === 'settle')
    if (last !== undefined) this.#now = last.debit.now
    return { ...applied, ...this.#engine.relays.takeTold() }
  }

  /** What a relay has settled is taken off its lease, so the other tasks of the group come before the leases. */
  #applyWithLeases(tasks: readonly Task[], unsettled: ReadonlySet<number> | undefined): Applied | NotApplied {
    const applied = this.#applyNoLease(tasks.filter((task) => !isLease(task)))
    if (applied.kind === 'failed') return applied
    const moved = this.#writes.apply(tasks.filter(isLease), unsettled)
    if (moved.kind === 'failed') return moved
    const [ofOthers, ofLeases] = [applied.answers.values(), moved.answers.values()]
    const answers = tasks.map((task) => (isLease(task) ? ofLeases : ofOthers).next().value as Answer)
    return { ...applied, answers, faults: [...applied.faults, ...moved.faults] }
  }

  #applyNoLease(tasks: readonly Task[]): Applied | NotApplied {
    const applied = this.#writes.apply(tasks)
    if (applied.kind === 'failed' || this.relays.isEmpty) return applied
    tasks.forEach((task, index) => {
      if (task.kind === 'settle' && applied.answers[index] === 'settled') this.relays.noteSettled(task.debit)
    })
    return applied
  }

  /** Waives requests of all boots except this one and its relays, because only one process writes a file. */
  recover(now: number): number | NotApplied {
    if (this.#refused !== undefined) return { kind: 'failed', problem: this.#refused }
    const left = this.#orphaned.all().filter(({ checkpoint }) => !this.relays.lives(checkpoint.bootNumber))
    return this.#writes.recover(left, now)
  }

  replay(frames: readonly Spilled[], onStep?: () => void): Replayed | NotApplied {
    if (this.#refused !== undefined) return { kind: 'failed', problem: this.#refused }
    const replayed = this.#writes.replay(frames, onStep)
    if (replayed.kind === 'failed') return replayed
    this.#pages.noteReceipts(replayed.settled.length)
    this.#hours.noteReceipts(replayed.settled.length)
    for (const { debits } of frames) for (const debit of debits) this.relays.noteSettled(debit)
    return replayed
  }

  /** If the storage fails here, the next settle reports it. */
  tidy(): void {
    if (this.#pages.isDue) this.#unflushed(() => this.#pages.advance(this.#now)) && this.#pages.advanced()
    this.#checkpointWhenDue()
  }

  #checkpointWhenDue(): void {
    if (this.#commits < COMMITS_BETWEEN && this.#settles < SETTLES_BETWEEN) return
    this.#commits = this.#settles = 0
    this.#checkpoint()
  }

  /** A batch writes about as much as its settles did. While nothing is asked of the ledger, as after a migration, no other moment moves the log into the file. */
  rollUp(): RolledUp {
    if (this.#refused !== undefined || !this.#hours.isDue) return 'none'
    const advance = (): void => {
      this.#hours.advance(Number(this.#lastReceipt.get()?.last ?? 0n))
      this.#hours.look()
    }
    if (!this.#unflushed(advance)) return 'none'
    this.#commits++
    this.#settles += HOURS_BATCH
    this.#checkpointWhenDue()
    return this.#hours.isDue ? 'more' : 'none'
  }

  /** Writes a new generation, which the next WAL checkpoint moves into the file. */
  advanceGeneration(): void {
    if (this.#unflushed(() => this.generations.write())) this.generations.advanced()
  }

  /** Commits without a flush. False: the storage fails. */
  #unflushed(write: () => void): boolean {
    try {
      this.#engine.transact(write, { isDurable: false })
      return true
    } catch (error) {
      if (!isStorageFailure(error)) throw error
      return false
    }
  }

  /** Makes the store write nothing any more, and leaves the log as it is, because the file was overwritten. */
  refuse(problem: string): void {
    this.#refused = problem
    keepLog(this.#db, true)
  }

  canWrite(): boolean {
    if (this.#refused !== undefined) return false
    try {
      proveWritable(this.#db)
      return true
    } catch (error) {
      this.#engine.abandon()
      if (!isStorageFailure(error)) throw error
      return false
    }
  }

  /** If the file is lost from its path, all commits go into the open file at once, because the log's path may belong to another file now. Otherwise commits go to the log again. */
  keepInFile(isLost: boolean): void {
    if (isLost) keepLog(this.#db, true)
    this.#db.run(`PRAGMA wal_autocheckpoint = ${isLost ? 1 : 0}`)
    if (isLost) this.moveLog()
  }

  /** Moves what it can of the log into the file, by the connection that writes. */
  moveLog(): void {
    moveLog(this.#db)
  }

  /** Leaves a single file: the log's content is moved into the database. */
  close(): void {
    if (this.#refused === undefined) {
      try {
        this.#db.run('PRAGMA wal_checkpoint(TRUNCATE)')
      } catch (error) {
        // If the log stays, the next opening reads it.
        if (!isStorageFailure(error)) throw error
      }
      this.#notePosition()
    }
    this.#isOpen = false
    this.#db.close()
  }
}
