/**
 * The ledger as a synchronous state machine over SQLite: tasks in, answers out. All writes of a call share one transaction, each in a savepoint of its own,
 * so that one that breaks a rule of the database takes no neighbour with it. Rules: ledger.md "Group commit".
 */

import { type Database, SQLiteError } from 'bun:sqlite'
import { proveWritable } from '../../db/open.ts'
import { minPicos, picos } from '../core/money.ts'
import type { KeyBalance, KeyChange } from './ledger.ts'
import { operate } from './operator-writes.ts'
import { hold, mark, release, settle } from './request-writes.ts'
import { prepareStatements, type Statements } from './statements.ts'
import { type Answer, isRead, type LedgerFault, type ReadTask, type Task, unavailable, type WriteTask } from './task.ts'

/** `faults`: tasks that broke a rule of the database, which only a bug can do. They were answered `unavailable` and changed nothing. */
export type Applied = Readonly<{
  kind: 'applied'
  answers: readonly Answer[]
  changes: readonly KeyChange[]
  faults: readonly LedgerFault[]
}>
/** Nothing was committed, so nothing has changed. The whole call may be repeated. */
export type NotApplied = Readonly<{ kind: 'failed'; problem: string }>

export class SqliteLedger {
  readonly #db: Database
  readonly #statements: Statements
  readonly #bootId: string
  #isSynchronousFull = true

  /** `db` is a writer's connection from db/open.ts. */
  constructor(db: Database, bootId: string) {
    this.#db = db
    this.#statements = prepareStatements(db)
    this.#bootId = bootId
  }

  /** Answers stand in the order of the tasks. Reads see what the writes of the same call did. */
  apply(tasks: readonly Task[]): Applied | NotApplied {
    const answers = new Array<Answer>(tasks.length)
    const changes: KeyChange[] = []
    const faults: LedgerFault[] = []
    const writes = tasks.filter((task): task is WriteTask => !isRead(task))
    try {
      if (writes.length > 0) {
        this.#setSynchronous(writes.some((task) => task.kind === 'settle' || task.kind === 'operate'))
        this.#db.run('BEGIN IMMEDIATE')
        tasks.forEach((task, index) => {
          if (!isRead(task)) answers[index] = this.#write(task, changes, faults)
        })
        this.#db.run('COMMIT')
      }
    } catch (error) {
      this.#abandon()
      if (!isStorageFailure(error)) throw error
      return { kind: 'failed', problem: describe(error) }
    }
    tasks.forEach((task, index) => {
      if (isRead(task)) answers[index] = this.#read(task, faults)
    })
    return { kind: 'applied', answers, changes, faults }
  }

  /** Requests that a process left in flight when it died, for recovery. */
  holdsOfOtherBoots(): ReturnType<Statements['holdsOfOtherBoots']['all']> {
    return this.#statements.holdsOfOtherBoots.all({ bootId: this.#bootId })
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

  /** Leaves one file behind: the log's content moves into the database. */
  close(): void {
    try {
      this.#db.run('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch (error) {
      // A log that stays is read at the next opening.
      if (!isStorageFailure(error)) throw error
    }
    this.#db.close()
  }

  #write(task: WriteTask, changes: KeyChange[], faults: LedgerFault[]): Answer {
    this.#db.run('SAVEPOINT task')
    try {
      const answer = this.#perform(task, changes)
      if (!isKept(answer)) this.#db.run('ROLLBACK TO task')
      this.#db.run('RELEASE task')
      return answer
    } catch (error) {
      if (isStorageFailure(error)) throw error
      this.#db.run('ROLLBACK TO task')
      this.#db.run('RELEASE task')
      faults.push(faultOf(task, error))
      return unavailable(task)
    }
  }

  #perform(task: WriteTask, changes: KeyChange[]): Answer {
    switch (task.kind) {
      case 'hold':
        return hold(this.#statements, task.request, this.#bootId)
      case 'mark':
        return mark(this.#statements, task.requestId, task.usage, task.now)
      case 'settle':
        return settle(this.#statements, task.settlement)
      case 'void':
        return release(this.#statements, task.requestId)
      case 'operate': {
        const operated = operate(this.#statements, task.operation)
        if (operated.result === 'refused') return operated
        for (const keyId of operated.changed) changes.push({ keyId, stop: this.#stopOf(keyId) })
        return { result: 'done' }
      }
    }
  }

  #read(task: ReadTask, faults: LedgerFault[]): Answer {
    try {
      return task.kind === 'findKey'
        ? this.#statements.keyOfSecret.get({ hash: Buffer.from(task.secretHash) })
        : this.#balanceOf(task.keyId)
    } catch (error) {
      faults.push(faultOf(task, error))
      return 'unavailable'
    }
  }

  #balanceOf(keyId: string): KeyBalance | undefined {
    const key = this.#statements.keyState.get({ keyId })
    if (key === undefined) return undefined
    const { balancePicos, limitPicos, spentPicos, lastSyncedAt, toppedUpAt } = key
    const availablePicos = limitPicos === null ? balancePicos : minPicos(balancePicos, picos(limitPicos - spentPicos))
    return { availablePicos, lastSyncedAt: Math.max(lastSyncedAt, toppedUpAt ?? 0) }
  }

  #stopOf(keyId: string): KeyChange['stop'] {
    const key = this.#statements.keyState.get({ keyId })
    return key?.isActive && key.isAccountActive ? null : 'disabled'
  }

  /** Between transactions only. A settle must survive power loss; a hold, a mark or a release need not. */
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

/** Only these answers stand for a change; the others undo what they tried. */
function isKept(answer: Answer): boolean {
  if (typeof answer === 'object') return 'result' in answer && answer.result === 'done'
  return answer === 'held' || answer === 'marked' || answer === 'settled' || answer === 'voided'
}

/** SQLite's results that a statement or its values cause; every other one is the storage's. */
const RULE_CODES = new Set([1, 18, 19, 20, 21, 25]) // ERROR, TOOBIG, CONSTRAINT, MISMATCH, MISUSE, RANGE

const isStorageFailure = (error: unknown): error is SQLiteError => error instanceof SQLiteError && !RULE_CODES.has(error.errno & 0xff)

/** SQLite's words name tables, rules and files; values are bound and never in them. */
const describe = ({ code = '', message }: SQLiteError): string => `${code} ${message}`

const faultOf = ({ kind }: Task, error: unknown): LedgerFault =>
  error instanceof SQLiteError ? { problem: `${kind}: ${describe(error)}` } : { problem: `${kind}: it failed by a bug`, bug: error }
