/** A world on a file: its storage is full, cannot be written or fails at the commit, and of its log only what was flushed outlives the power. */

import { Database } from 'bun:sqlite'
import { copyFileSync, existsSync, rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { makeDatabase, openDatabase } from '../../db/open.ts'
import type { StoreSupervisor } from '../../src/ledger/admission/store-supervisor.ts'
import type { WritablePlace } from '../../src/ledger/place.ts'
import type { Connection } from '../../src/ledger/sql/connection.ts'
import { SqliteStore } from '../../src/ledger/sqlite/store.ts'
import { differencesInFile } from '../../src/ledger/sqlite/verify.ts'
import type { OpenProblem } from '../../src/ledger/thread-messages.ts'
import { relaySpillsAt } from '../../src/ledger/writing/relay-spills.ts'
import type { Fault, Ground, GroundStore, HowEnded, Opening } from './ground.ts'

/** What SQLite says when there is no room, as it says it: the class has no constructor of its own. */
const NO_ROOM: unknown = (() => {
  const db = new Database(':memory:')
  try {
    db.run('PRAGMA max_page_count = 2')
    for (let n = 0; n < 3; n++) db.run(`CREATE TABLE t${n} (a)`)
  } catch (error) {
    return error
  } finally {
    db.close()
  }
  return undefined
})()

export class FileGround implements Ground {
  readonly faults = ['full', 'broken', 'late', 'late'] as const
  readonly ends = ['crash', 'power loss'] as const
  readonly makeSupervisor = (): StoreSupervisor => NO_SUPERVISOR
  readonly isShared = false
  readonly isFenced = false
  readonly #folder: string
  readonly #clock: () => number
  #process = 0

  /** `clock`: by which relays are granted leases. */
  constructor(folder: string, clock: () => number) {
    this.#folder = folder
    this.#clock = clock
    const made = makeDatabase(this.#path)
    if (made !== undefined) throw new Error(made.message)
  }

  get #path(): string {
    return join(this.#folder, `ledger-${this.#process}.db`)
  }

  begin(): void {}

  /** The files as they stand are all that is left. */
  end(how: HowEnded, cutAt: (flushedBytes: number, bytes: number) => number, flushedBytes: number | undefined): void {
    const before = this.#path
    this.#process++
    const spills = ['.spill', ...relaySpillsAt(before)]
    for (const suffix of ['', '-wal', ...spills]) if (existsSync(before + suffix)) copyFileSync(before + suffix, this.#path + suffix)
    // Where no thread writes, nothing stands in the log that was not flushed with its end.
    const log = `${this.#path}-wal`
    if (how === 'power loss' && flushedBytes !== undefined && existsSync(log)) truncateSync(log, cutAt(flushedBytes, statSync(log).size))
    for (const suffix of ['', '-wal', '-shm', ...spills]) rmSync(before + suffix, { force: true })
  }

  place(): Extract<WritablePlace, { kind: 'sqlite' }> {
    return { kind: 'sqlite', path: this.#path, file: { id: '', handle: -1 }, named: this.#path }
  }

  open({ place: { path }, bootId, now }: Opening, fault: () => Fault): GroundStore | OpenProblem {
    const db = openDatabase(path, 'write', {
      refuses(given) {
        limit(given, fault())
        return undefined
      },
    })
    if ('problem' in db) return db
    let flushed = 0
    const noteFlush = (): void => {
      flushed = existsSync(`${path}-wal`) ? statSync(`${path}-wal`).size : 0
    }
    const store = new SqliteStore(failingLate(db, fault), bootId, now, this.#clock)
    return {
      store,
      spillAt: path,
      meet: () => limit(db, fault()),
      noteFlush: (what) => {
        if (what === 'opened' || isFlushed(db)) noteFlush()
      },
      flushedBytes: () => flushed,
      rejoin: () => undefined,
      die: () => db.close(),
    }
  }

  leftAfterClose(): string | undefined {
    return existsSync(`${this.#path}-wal`) ? 'a log' : undefined
  }

  fence(): boolean {
    return false
  }

  rejoin(): void {}

  read(): Connection {
    const db = openDatabase(this.#path, 'read')
    if ('problem' in db) throw new Error(db.message)
    return db
  }

  differences(db: Connection): ReturnType<Ground['differences']> {
    return differencesInFile(db)
  }

  close(): void {}
}

function failingLate(db: Database, fault: () => Fault): Database {
  const prepare = db.prepare.bind(db)
  db.prepare = ((sql: string) => {
    const statement = prepare(sql)
    if (sql !== 'COMMIT') return statement
    const commit = statement.run.bind(statement)
    statement.run = () => {
      if (fault() === 'late') throw NO_ROOM
      return commit()
    }
    return statement
  }) as typeof db.prepare
  return db
}

function limit(db: Database, fault: Fault): void {
  db.run(`PRAGMA query_only = ${fault === 'broken' ? 1 : 0}`)
  const pages = db.query<{ page_count: bigint }, []>('PRAGMA page_count').get()?.page_count ?? 0n
  db.run(`PRAGMA max_page_count = ${fault === 'full' ? pages : 1_000_000}`)
}

/** Of a commit that was just made: 2 is FULL, which flushes the log. */
const isFlushed = (db: Database): boolean => db.query<{ synchronous: bigint }, []>('PRAGMA synchronous').get()?.synchronous === 2n

/** Its log is checkpointed by the simulated thread, and nothing checks it. */
const NO_SUPERVISOR: StoreSupervisor = {
  onLeftOpen: () => undefined,
  mayAdmit: () => true,
  onWalCheckpointDue: () => undefined,
  onCommitted: () => undefined,
  whileHeard: (working) => working,
  isSound: () => true,
  rescueHint: () => '',
  stop: () => undefined,
  close: () => Promise.resolve(),
  onClosed: () => undefined,
}
