/**
 * The ledger as a synchronous state machine over SQLite: tasks in, answers out. All writes of a call share one transaction. One that breaks a rule of the database
 * breaks the group: it is rolled back and replayed, each task in a savepoint of its own, which names the culprit and takes no neighbour with it.
 * Rules: ledger.md "Group commit".
 */

import type { Database, Statement } from 'bun:sqlite'
import { keepLog, proveWritable, WAL_PAGES_MAX } from '../../../db/open.ts'
import { Debits } from '../debits.ts'
import type { IdempotentUse, KeyChange } from '../ledger.ts'
import { Numbers, numberIn } from '../numbers.ts'
import { operate } from '../operator-writes.ts'
import { ratesOf } from '../receipt-rows.ts'
import { recoveredDebit } from '../recovery.ts'
import { settleAgain } from '../second-settle.ts'
import type { Spilled } from '../spill-records.ts'
import { prepareStatements, type Statements } from '../statements.ts'
import type { Applied, NotApplied, Replayed, Store } from '../store.ts'
import {
  type Answer,
  type Debit,
  type FoundKey,
  isRead,
  type KeyState,
  type LedgerFault,
  type PriceVersion,
  type ReadTask,
  type Task,
  unavailable,
  type WriteTask,
} from '../task.ts'
import { PageTable } from './page-table.ts'
import { type Position, positionOf } from './position.ts'
import { describeFailure, faultOf, isStorageFailure } from './storage-failure.ts'

type Written = { answers: Answer[]; changes: KeyChange[]; faults: LedgerFault[] }

export class SqliteStore implements Store {
  readonly #db: Database
  readonly #statements: Statements
  readonly #numbers: Numbers
  readonly #boot: number
  readonly #debits: Debits
  readonly #pages: PageTable
  readonly #begin: Statement
  readonly #commit: Statement
  readonly #bootId: string
  #position: Position
  #isOpen = true
  #isSynchronousFull = true
  /** Of the last settle. Unix milliseconds. */
  #now: number

  /** `db` is a writer's connection from db/open.ts. Names the process in the file. `now`: Unix milliseconds. Throws what SQLite says. */
  constructor(db: Database, bootId: string, now: number) {
    this.#db = db
    this.#statements = prepareStatements(db)
    this.#numbers = new Numbers(this.#statements)
    this.#begin = db.prepare('BEGIN IMMEDIATE')
    this.#commit = db.prepare('COMMIT')
    this.#position = positionOf(db)
    this.#boot = this.#registerBoot(bootId, now)
    this.#debits = new Debits(this.#statements, this.#numbers, { number: this.#boot, id: bootId })
    this.#pages = new PageTable(db)
    this.#now = now
    this.#bootId = bootId
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

  define(prices: readonly PriceVersion[]): void {
    this.#numbers.define(prices)
  }

  versionAt(index: number): PriceVersion {
    return this.#numbers.versionAt(index)
  }

  apply(tasks: readonly Task[]): Applied | NotApplied {
    const written: Written = { answers: new Array<Answer>(tasks.length), changes: [], faults: [] }
    if (tasks.some((task) => !isRead(task))) {
      this.#setSynchronous(tasks.some((task) => task.kind === 'settle' || task.kind === 'operate'))
      const problem = this.#inTransaction(() => this.#writeGroup(tasks, written), 'may replay')
      const again = problem === 'replay' ? this.#inTransaction(() => this.#replay(tasks, written), 'final') : problem
      if (again !== undefined) return { kind: 'failed', problem: again }
      this.#pages.noteReceipts(written.answers.reduce((count: number, answer) => (answer === 'settled' ? count + 1 : count), 0))
    }
    tasks.forEach((task, index) => {
      if (isRead(task)) written.answers[index] = this.#read(task, written.faults)
    })
    return { kind: 'applied', ...written }
  }

  /**
   * Waives what other boots left in flight. A mark that the database refuses (a broken upstream's figures) is dropped instead: one bad mark must not keep the ledger
   * closed. Returns how many there were.
   */
  recover(now: number): number | NotApplied {
    const left = this.#statements.marksOfOtherBoots.all({ boot: this.#boot })
    if (left.length === 0) return 0
    this.#setSynchronous(true)
    const problem = this.#inTransaction(() => {
      for (const mark of left) {
        const debit = recoveredDebit(mark, now)
        const failure = this.#inSavepoint(() => {
          this.#debits.insertRecovered(debit, { modelId: mark.modelId, rates: ratesOf(mark.price) })
          this.#debits.flush()
        })
        if (failure !== undefined) this.#statements.deleteMark.run(debit.requestId)
      }
    }, 'final')
    return problem === undefined ? left.length : { kind: 'failed', problem }
  }

  /** What a spill kept, whoever wrote it. What is there already stays as it is; what the database refuses is dropped, and told. */
  replay(frames: readonly Spilled[]): Replayed | NotApplied {
    const settled: string[] = []
    const faults: LedgerFault[] = []
    this.#setSynchronous(true)
    const problem = this.#inTransaction(() => {
      for (const { prices, debits, releases, calls } of frames) {
        const numbers = new Numbers(this.#statements)
        numbers.define(prices)
        const own = new Debits(this.#statements, numbers, { number: this.#boot, id: this.#bootId })
        const attempt = (kind: Task['kind'], write: () => void): void => {
          const failure = this.#inSavepoint(write)
          if (failure === undefined) return
          own.forget()
          faults.push(faultOf(`${kind} from the spill`, failure.error))
        }
        for (const debit of debits) {
          attempt('settle', () => {
            const fault = own.insert(debit) ? undefined : settleAgain(this.#statements, this.#boot, debit).fault
            own.flush()
            own.reread()
            settled.push(debit.requestId)
            if (fault !== undefined) faults.push(fault)
          })
        }
        this.#debits.reread()
        for (const requestId of releases) attempt('unmark', () => this.#statements.deleteMark.run(requestId))
        for (const call of calls) attempt('attempts', () => own.insertAttempts(call))
      }
    }, 'final')
    if (problem !== undefined) return { kind: 'failed', problem }
    this.#pages.noteReceipts(settled.length)
    return { kind: 'replayed', settled, faults }
  }

  /** What waits behind the settles, when enough of it does: for after their answers. A storage that fails now is met by the next settle. */
  tidy(): void {
    if (!this.#pages.isDue) return
    this.#setSynchronous(false)
    const problem = this.#inTransaction(() => this.#pages.advance(this.#now), 'final')
    if (problem === undefined) this.#pages.advanced()
  }

  /** A small commit to disk: true when the storage takes writes again. */
  canWrite(): boolean {
    try {
      proveWritable(this.#db)
      return true
    } catch (error) {
      this.#abandon()
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

  #registerBoot(id: string, now: number): number {
    return this.#db
      .transaction(() => {
        this.#statements.insertBoot.run({ id, node: this.#position.ledger, startedAt: now })
        this.#db.query("INSERT OR REPLACE INTO meta (name, value) VALUES ('boot', ?)").run(id)
        return numberIn(this.#statements.bootNumber.get(id))
      })
      .immediate()
  }

  /** Undefined when it was committed, else why not. `replay`: a rule of the database was broken, nothing is wrong with the storage. */
  #inTransaction(write: () => void, mode: 'may replay' | 'final'): 'replay' | string | undefined {
    try {
      this.#begin.run()
      write()
      this.#commit.run()
      this.#numbers.committed()
      this.#debits.committed()
      return undefined
    } catch (error) {
      this.#abandon()
      this.#debits.forget()
      this.#numbers.rolledBack()
      if (isStorageFailure(error)) return describeFailure(error)
      if (mode === 'may replay') return 'replay'
      throw error
    }
  }

  /** All at once, the sums at the end: any broken rule breaks the group. */
  #writeGroup(tasks: readonly Task[], written: Written): void {
    const { answers } = written
    for (let index = 0; index < tasks.length; index++) {
      const task = tasks[index]
      if (task !== undefined && !isRead(task)) answers[index] = this.#perform(task, written)
    }
    this.#debits.flush()
  }

  #replay(tasks: readonly Task[], written: Written): void {
    written.changes.length = 0
    written.faults.length = 0
    tasks.forEach((task, index) => {
      if (isRead(task)) return
      const failure = this.#inSavepoint(() => {
        written.answers[index] = this.#perform(task, written)
        this.#debits.flush()
      })
      if (failure === undefined) return
      written.faults.push(faultOf(task.kind, failure.error))
      written.answers[index] = unavailable(task)
    })
  }

  /** What undid it, or undefined. A failing storage is thrown on. */
  #inSavepoint(write: () => void): Readonly<{ error: unknown }> | undefined {
    this.#db.run('SAVEPOINT task')
    try {
      write()
      this.#db.run('RELEASE task')
      return undefined
    } catch (error) {
      if (isStorageFailure(error)) throw error
      this.#db.run('ROLLBACK TO task')
      this.#db.run('RELEASE task')
      this.#debits.forget()
      this.#numbers.rolledBack()
      return { error }
    }
  }

  #perform(task: WriteTask, written: Written): Answer {
    switch (task.kind) {
      case 'settle':
        this.#now = task.debit.now
        return this.#debits.insert(task.debit) ? 'settled' : this.#settleAgain(task.debit, written)
      case 'attempts':
        this.#debits.insertAttempts(task.calls)
        return 'recorded'
      case 'mark':
        this.#debits.putMark(task.mark, task.now)
        return 'marked'
      case 'unmark':
        this.#statements.deleteMark.run(task.requestId)
        return this.#statements.isSettled.get({ requestId: task.requestId }) === undefined ? 'absent' : 'settled'
      case 'operate':
        return this.#operate(task, written.changes)
    }
  }

  #settleAgain(debit: Debit, { faults }: Written): Answer {
    this.#debits.flush()
    const { answer, fault } = settleAgain(this.#statements, this.#boot, debit)
    this.#debits.reread()
    if (fault !== undefined) faults.push(fault)
    return answer
  }

  /** A refusal may leave half-made rows behind: they are rolled back. What the group spent before is written first, so that an operation sees it. */
  #operate({ operation, act }: Extract<WriteTask, { kind: 'operate' }>, changes: KeyChange[]): Answer {
    this.#debits.flush()
    this.#db.run('SAVEPOINT operation')
    const performed = operate(this.#statements, operation, act)
    if (performed.result === 'refused') this.#db.run('ROLLBACK TO operation')
    this.#db.run('RELEASE operation')
    this.#debits.reread()
    if (performed.result === 'refused') return performed
    for (const keyId of performed.changed) changes.push({ keyId, stop: this.#stopOf(keyId) })
    const { changed: _, ...done } = performed
    return done
  }

  #read(task: ReadTask, faults: LedgerFault[]): Answer {
    try {
      switch (task.kind) {
        case 'findKey':
          return this.#findKey(task.secretHash)
        case 'keyStates':
          return task.keyIds.map((keyId) => this.#statements.keyState.get({ keyId })).filter((state) => state !== undefined)
        case 'findIdempotency':
          return this.#findIdempotency(task)
      }
    } catch (error) {
      faults.push(faultOf(task.kind, error))
      return 'unavailable'
    }
  }

  #findKey(secretHash: Uint8Array): FoundKey | undefined {
    const found = this.#statements.keyOfSecret.get({ hash: Buffer.from(secretHash) })
    if (found === undefined) return undefined
    const { keyNumber, accountNumber, spentPicos, balancePicos, lastSyncedAt, toppedUpAt, ...record } = found
    const { id: keyId, accountId, isActive, isAccountActive, expiresAt, limitPicos } = record
    const state: KeyState = {
      keyId,
      keyNumber,
      accountId,
      accountNumber,
      isActive,
      isAccountActive,
      expiresAt,
      limitPicos,
      spentPicos,
      balancePicos,
      lastSyncedAt,
      toppedUpAt,
    }
    return { record, state }
  }

  #findIdempotency({ keyId, headerHash, now }: Extract<ReadTask, { kind: 'findIdempotency' }>): IdempotentUse | undefined {
    const found = this.#statements.idempotencyOf.get({ keyId, headerHash: Buffer.from(headerHash), now })
    return found && { ...found, bodyHash: new Uint8Array(found.bodyHash) }
  }

  #stopOf(keyId: string): KeyChange['stop'] {
    const key = this.#statements.keyState.get({ keyId })
    return key?.isActive && key.isAccountActive ? null : 'disabled'
  }

  /** Between transactions only. A settle must survive power loss; a mark need not. */
  #setSynchronous(isFull: boolean): void {
    if (isFull === this.#isSynchronousFull) return
    this.#db.run(`PRAGMA synchronous = ${isFull ? 'FULL' : 'NORMAL'}`)
    this.#isSynchronousFull = isFull
  }

  /** SQLite rolls a transaction back by itself when the disk is full; after other errors it waits for us. */
  #abandon(): void {
    if (!this.#db.inTransaction) return
    try {
      this.#db.run('ROLLBACK')
    } catch (error) {
      if (!isStorageFailure(error)) throw error
    }
  }
}
