/** Transactions on the ledger's file: each begins as a writing one, since there is one writer, and is flushed if its writes need it. Rules: ledger.md "Group commit". */

import type { Database, Statement } from 'bun:sqlite'
import type { LeaseAnswer } from '../lease-move.ts'
import type { KeyChange } from '../ledger.ts'
import type { Operation } from '../operation.ts'
import type { Numbers } from '../sql/numbers.ts'
import { numberIn } from '../sql/numbers.ts'
import { prepareStatements, type Statements } from '../sql/statements.ts'
import type { LeaseTask } from '../task.ts'
import type { LedgerFault } from '../thread-messages.ts'
import type { Engine, Purpose, Verdict } from '../writing/engine.ts'
import { chainPlaceOf } from './chain-place.ts'
import { type DebitStatements, prepareDebitStatements } from './debit-statements.ts'
import { SqliteDebits } from './debits.ts'
import { SqliteRelays } from './relays.ts'
import { describeFailure, faultOf, isStorageFailure } from './storage-failure.ts'

export class SqliteEngine implements Engine {
  readonly db: Database
  readonly statements: Statements
  readonly boot: number
  readonly relays: SqliteRelays
  readonly #debitStatements: DebitStatements
  readonly #bootId: string
  readonly #begin: Statement
  readonly #commit: Statement
  #isSynchronousFull = true

  /** Writes the boot of this process into the file. `node`: the file's id. `now`, `clock`: Unix milliseconds. */
  constructor(db: Database, node: string, bootId: string, now: number, clock: () => number) {
    this.db = db
    this.statements = prepareStatements(db, chainPlaceOf(db))
    this.relays = new SqliteRelays(db, this.statements, clock)
    this.#debitStatements = prepareDebitStatements(db)
    this.#begin = db.prepare('BEGIN IMMEDIATE')
    this.#commit = db.prepare('COMMIT')
    this.#bootId = bootId
    this.boot = this.#registerBoot(node, now)
  }

  debitsOf(numbers: Numbers): SqliteDebits {
    return new SqliteDebits(this.#debitStatements, this.statements, numbers, { number: this.boot, id: this.#bootId })
  }

  transact(write: () => void, { isDurable }: Purpose): void {
    this.#setSynchronous(isDurable)
    try {
      this.#begin.run()
      write()
      this.#commit.run()
      this.relays.committed()
    } catch (error) {
      this.relays.rolledBack()
      this.abandon()
      throw error
    }
  }

  moveLeases(tasks: readonly LeaseTask[]): readonly (LeaseAnswer | undefined)[] {
    return tasks.map((task) => this.relays.move(task.kind === 'ask' ? task.ask : task.release))
  }

  isFenced(boot: number): boolean {
    return this.relays.hasEnded(boot)
  }

  announce(operation: Operation, changes: readonly KeyChange[]): void {
    this.relays.announce(operation, changes)
  }

  verdictOf(error: unknown): Verdict {
    return isStorageFailure(error) ? 'storage' : 'rule'
  }

  describe(error: unknown): string {
    return isStorageFailure(error) ? describeFailure(error) : String(error)
  }

  faultOf(what: string, error: unknown): LedgerFault {
    return faultOf(what, error)
  }

  /** SQLite rolls a transaction back by itself when the disk is full; after other errors the transaction is still open. */
  abandon(): void {
    if (!this.db.inTransaction) return
    try {
      this.db.run('ROLLBACK')
    } catch (error) {
      if (!isStorageFailure(error)) throw error
    }
  }

  #registerBoot(node: string, startedAt: number): number {
    return this.db
      .transaction(() => {
        this.statements.insertBoot.run({ id: this.#bootId, node, startedAt })
        this.db.query("INSERT OR REPLACE INTO meta (name, value) VALUES ('boot', ?)").run(this.#bootId)
        return numberIn(this.statements.bootNumber.get(this.#bootId))
      })
      .immediate()
  }

  /** To be called between transactions only. A settle must survive a loss of power; a checkpoint need not. */
  #setSynchronous(isFull: boolean): void {
    if (isFull === this.#isSynchronousFull) return
    this.db.run(`PRAGMA synchronous = ${isFull ? 'FULL' : 'NORMAL'}`)
    this.#isSynchronousFull = isFull
  }
}
