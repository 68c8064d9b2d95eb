/**
 * The ledger's thread without a thread: a Worker whose messages wait in two queues until the simulation delivers them, one a step, over the real commit loop and
 * the real state machine on a real file. It can die between any two steps, its storage can fail, and it knows how much of the log a loss of power would leave.
 */

import { Database } from 'bun:sqlite'
import { existsSync, statSync } from 'node:fs'
import { openDatabase } from '../../db/open.ts'
import { CommitLoop } from '../../src/ledger/commit-loop.ts'
import { readDebits } from '../../src/ledger/debit-records.ts'
import { Spill } from '../../src/ledger/spill.ts'
import { SqliteStore } from '../../src/ledger/sqlite/store.ts'
import { takeOver } from '../../src/ledger/take-over.ts'
import type { Answer, Committed, FromThread, ToThread } from '../../src/ledger/task.ts'
import type { VirtualTime } from './virtual-time.ts'

type Listener = (event: { data: FromThread }) => void
/** none · full: no page more · broken: no write at all · late: all is written but for the commit itself. `spill`: whether what is kept beside it can be. */
export type Storage = Readonly<{ fault: 'none' | 'full' | 'broken' | 'late'; spill: 'works' | 'fails' }>
export const SOUND: Storage = { fault: 'none', spill: 'works' }

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

export class SimulatedThread {
  readonly #listeners = new Map<string, Listener[]>()
  readonly #toThread: ToThread[] = []
  readonly #fromThread: FromThread[] = []
  #db: Database | undefined
  #loop: CommitLoop | undefined
  #spill: Spill | undefined
  readonly #time: VirtualTime
  readonly #storage: () => Storage
  #state: 'lives' | 'dying' | 'gone' = 'lives'
  #logPath = ''
  #flushedBytes = 0

  /** `storage`: how it is now, for it and for whoever comes after it. */
  constructor(time: VirtualTime, storage: () => Storage) {
    this.#time = time
    this.#storage = storage
  }

  /** Of the log: what of it was flushed when something that must outlive the power was last said. Whatever stands behind that may be lost. */
  get flushedBytes(): number {
    return this.#flushedBytes
  }

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener])
  }

  /** Copied when it is posted, as between real threads. */
  postMessage(message: ToThread): void {
    if (this.#state === 'lives') this.#toThread.push(structuredClone(message))
  }

  terminate(): void {
    this.die()
  }

  get isBusy(): boolean {
    return this.#state !== 'gone' && (this.#state === 'dying' || this.#toThread.length > 0 || this.#fromThread.length > 0)
  }

  /** It writes, and does not only checkpoint. */
  get isWriter(): boolean {
    return this.#state === 'lives' && this.#loop !== undefined
  }

  get isGone(): boolean {
    return this.#state === 'gone'
  }

  /** What is under way: the thread reads its next message, or the gateway hears the next answer. False: nothing was. */
  deliver(side: 'thread' | 'gateway'): boolean {
    if (side === 'gateway') return this.#tellGateway()
    const message = this.#toThread.shift()
    if (message === undefined) return false
    this.#time.as(this, () => this.#obey(message))
    return true
  }

  /** Ends it as it stands: what it had not read is lost, what it had said is heard or not. */
  die(isHeard = false): void {
    if (this.#state !== 'lives') return
    if (!isHeard) this.#fromThread.length = 0
    this.#state = 'dying'
    this.#time.forget(this)
    this.#toThread.length = 0
    this.#loop = undefined
    // Its end closes the handle of the spill too, with nothing written.
    this.#spill?.close()
    this.#spill = undefined
    this.#db?.close()
    this.#db = undefined
  }

  /** The storage has changed. */
  meetStorage(): void {
    if (this.#db !== undefined) limit(this.#db, this.#storage().fault)
  }

  #tellGateway(): boolean {
    const said = this.#fromThread.shift()
    if (said !== undefined) {
      for (const listener of this.#listeners.get('message') ?? []) listener({ data: said })
      return true
    }
    if (this.#state !== 'dying') return false
    this.#state = 'gone'
    for (const listener of this.#listeners.get('close') ?? []) listener({ data: { kind: 'closed' } })
    return true
  }

  #say(message: FromThread): void {
    this.#fromThread.push(structuredClone(message))
  }

  #obey(message: ToThread): void {
    switch (message.kind) {
      case 'open':
        this.#open(message)
        break
      case 'tasks': {
        const debits = readDebits(message.debits).map(({ number, debit }) => ({ number, task: { kind: 'settle', debit } }) as const)
        this.#loop?.add([...message.tasks, ...debits], message.prices)
        break
      }
      case 'close':
        this.#loop?.close()
        this.#loop = undefined
        this.#spill = undefined
        this.#db = undefined
        this.#say({ kind: 'closed' })
        break
      case 'checkpoint':
        this.#say({ kind: 'checkpointed' })
        break
      default:
    }
  }

  #open({ place: { path }, bootId, now, retryMs, spillBytes }: Extract<ToThread, { kind: 'open' }>): void {
    const db = openDatabase(path, 'write', (given) => {
      limit(given, this.#storage().fault)
      return undefined
    })
    if ('problem' in db) {
      this.#say({ kind: 'problem', problem: db })
      return
    }
    this.#db = this.#failingLate(db)
    const ledger = new SqliteStore(db, bootId, now)
    const spill = Spill.open(path, ledger, spillBytes)
    if ('problem' in spill) throw new Error(spill.message)
    const keep = spill.keep.bind(spill)
    spill.keep = (tasks) => this.#storage().spill === 'works' && keep(tasks)
    const left = takeOver([spill], ledger, now)
    if ('kind' in left) {
      spill.close()
      this.#db = undefined
      db.close()
      this.#say({ kind: 'problem', problem: { problem: 'unwritable', message: left.problem } })
      return
    }
    if (spillBytes > 0) spill.reserve(spillBytes)
    this.#spill = spill
    this.#logPath = `${path}-wal`
    this.#noteFlush()
    this.#loop = new CommitLoop(ledger, spill, (message) => this.#tell(message), retryMs)
    this.#say({ kind: 'opened', recovered: left.recovered, wasLeftOpen: false, replayed: left.replayed })
  }

  #tell(message: Committed): void {
    const isPromise =
      message.settled.length > 0 || (message.replayed ?? []).length > 0 || message.answers.some(({ answer }) => isDone(answer))
    if (isPromise && isFlushed(this.#db)) this.#noteFlush()
    this.#say(message)
  }

  #noteFlush(): void {
    this.#flushedBytes = existsSync(this.#logPath) ? statSync(this.#logPath).size : 0
  }

  #failingLate(db: Database): Database {
    const prepare = db.prepare.bind(db)
    db.prepare = ((sql: string) => {
      const statement = prepare(sql)
      if (sql !== 'COMMIT') return statement
      const commit = statement.run.bind(statement)
      statement.run = () => {
        if (this.#storage().fault === 'late') throw NO_ROOM
        return commit()
      }
      return statement
    }) as typeof db.prepare
    return db
  }
}

function limit(db: Database, fault: Storage['fault']): void {
  db.run(`PRAGMA query_only = ${fault === 'broken' ? 1 : 0}`)
  const pages = db.query<{ page_count: bigint }, []>('PRAGMA page_count').get()?.page_count ?? 0n
  db.run(`PRAGMA max_page_count = ${fault === 'full' ? pages : 1_000_000}`)
}

/** Of a commit that was just made: 2 is FULL, which flushes the log. */
const isFlushed = (db: Database | undefined): boolean =>
  db?.query<{ synchronous: bigint }, []>('PRAGMA synchronous').get()?.synchronous === 2n
const isDone = (answer: Answer): boolean => typeof answer === 'object' && 'result' in answer && answer.result === 'done'
