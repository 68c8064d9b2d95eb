/** The ledger over a SQLite file: what only a file has beside the state machine. Rules: ledger.md "Group commit", "Pages", "A ledger that vanishes". */

import type { Database } from 'bun:sqlite'
import { ne } from 'drizzle-orm'
import { keepLog, proveWritable, WAL_PAGES_MAX } from '../../../db/open.ts'
import { marks } from '../../../db/schema.ts'
import { GroupWrites } from '../group-writes.ts'
import { prepareLeftMarks } from '../left-marks.ts'
import type { Spilled } from '../spill-records.ts'
import type { Applied, NotApplied, Replayed, Store } from '../store.ts'
import type { PriceVersion, Task } from '../task.ts'
import { SqliteEngine } from './engine.ts'
import { PageTable } from './page-table.ts'
import { type Position, positionOf } from './position.ts'
import { isStorageFailure } from './storage-failure.ts'

export class SqliteStore implements Store {
  readonly #db: Database
  readonly #engine: SqliteEngine
  readonly #writes: GroupWrites
  readonly #pages: PageTable
  readonly #leftMarks: ReturnType<typeof prepareLeftMarks>
  #position: Position
  #isOpen = true
  /** Of the last settle. Unix milliseconds. */
  #now: number

  /** `db` is a writer's connection from db/open.ts. Names the process in the file. `now`: Unix milliseconds. Throws what SQLite says. */
  constructor(db: Database, bootId: string, now: number) {
    this.#db = db
    this.#position = positionOf(db)
    this.#engine = new SqliteEngine(db, this.#position.ledger, bootId, now)
    this.#writes = new GroupWrites(this.#engine)
    this.#pages = new PageTable(db)
    this.#leftMarks = prepareLeftMarks(db, ne(marks.bootNumber, this.#engine.boot), -1)
    this.#now = now
  }

  get id(): string {
    return this.position.ledger
  }

  /** Of what is committed. After `close`, and while the storage cannot say, the last one that was known. */
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

  get boot(): number {
    return this.#engine.boot
  }

  define(prices: readonly PriceVersion[]): void {
    this.#writes.numbers.define(prices)
  }

  versionAt(index: number): PriceVersion {
    return this.#writes.numbers.versionAt(index)
  }

  apply(tasks: readonly Task[]): Applied | NotApplied {
    const applied = this.#writes.apply(tasks)
    if (applied.kind === 'failed') return applied
    this.#pages.noteReceipts(applied.answers.reduce((count: number, answer) => (answer === 'settled' ? count + 1 : count), 0))
    const last = tasks.findLast((task) => task.kind === 'settle')
    if (last !== undefined) this.#now = last.debit.now
    return applied
  }

  /** Of other boots: only one process writes a file. */
  recover(now: number): number | NotApplied {
    return this.#writes.recover(this.#leftMarks.all(), now)
  }

  replay(frames: readonly Spilled[]): Replayed | NotApplied {
    const replayed = this.#writes.replay(frames)
    if (replayed.kind === 'replayed') this.#pages.noteReceipts(replayed.settled.length)
    return replayed
  }

  /** A storage that fails now is met by the next settle. */
  tidy(): void {
    if (!this.#pages.isDue) return
    try {
      this.#engine.transact(() => this.#pages.advance(this.#now), { isDurable: false })
      this.#pages.advanced()
    } catch (error) {
      if (!isStorageFailure(error)) throw error
    }
  }

  canWrite(): boolean {
    try {
      proveWritable(this.#db)
      return true
    } catch (error) {
      this.#engine.abandon()
      if (!isStorageFailure(error)) throw error
      return false
    }
  }

  /** All that is committed goes into the file that is open, from now on with every commit; the names beside it are left alone, whose they may be now. */
  keepInFile(isLost: boolean): void {
    if (isLost) keepLog(this.#db, true)
    this.#db.run(`PRAGMA wal_autocheckpoint = ${isLost ? 1 : WAL_PAGES_MAX}`)
    if (!isLost) return
    try {
      this.#db.run('PRAGMA wal_checkpoint(PASSIVE)')
    } catch (error) {
      // The next look comes in a moment.
      if (!isStorageFailure(error)) throw error
    }
  }

  /** Leaves one file behind: the log's content moves into the database. */
  close(): void {
    try {
      this.#db.run('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch (error) {
      // A log that stays is read at the next opening.
      if (!isStorageFailure(error)) throw error
    }
    this.#notePosition()
    this.#isOpen = false
    this.#db.close()
  }
}
