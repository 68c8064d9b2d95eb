/**
 * Transactions on Postgres: each asserts first that its node still owns its lane. A group of settles alone is one statement and needs none. Rules: ledger.md "Settles on
 * Postgres".
 */

import type { Connection } from '../connection.ts'
import type { Engine, Purpose, Verdict } from '../engine.ts'
import type { Numbers } from '../numbers.ts'
import { prepareStatements, type Statements } from '../statements.ts'
import type { LeaseAnswer, LeaseTask, LedgerFault, WriteTask } from '../task.ts'
import { chainPlaceOf } from './chain-place.ts'
import { NeedsTransaction, PostgresDebits } from './debits.ts'
import { moveLeases } from './leases.ts'
import type { NodeIdentity } from './node.ts'
import { RowLocks } from './row-locks.ts'
import { describeFailure, faultOf, isConflict, isFenced, isStorageFailure } from './storage-failure.ts'

export class PostgresEngine implements Engine {
  readonly db: Connection
  readonly statements: Statements
  readonly boot: number
  readonly #node: NodeIdentity
  readonly #assertNode
  readonly #locks: RowLocks
  #isAlone = true

  constructor(db: Connection, node: NodeIdentity) {
    this.db = db
    this.boot = node.boot
    this.#node = node
    this.statements = prepareStatements(db, chainPlaceOf(db, node.lane))
    this.#assertNode = db.query<undefined, [number, number, number]>('SELECT assert_node(?, ?, ?)')
    this.#locks = new RowLocks(db)
  }

  debitsOf(numbers: Numbers): PostgresDebits {
    return new PostgresDebits(this.db, this.statements, numbers, this.#node, () => this.#isAlone)
  }

  transact(write: () => void, { tasks = [] }: Purpose): void {
    if (tasks.length > 0 && tasks.every(isOneStatement)) {
      try {
        write()
        return
      } catch (error) {
        if (!(error instanceof NeedsTransaction)) throw error
      }
    }
    this.#isAlone = false
    try {
      this.db.transaction(() => {
        const { lane, boot, epoch } = this.#node
        this.#assertNode.run(lane, boot, epoch)
        this.#locks.take(tasks)
        write()
      })()
    } finally {
      this.#isAlone = true
    }
  }

  moveLeases(tasks: readonly LeaseTask[]): readonly LeaseAnswer[] {
    const moves = tasks.map((task) => (task.kind === 'ask' ? task.ask : task.release))
    return moveLeases(this.db, this.#node, moves)
  }

  verdictOf(error: unknown): Verdict {
    if (isFenced(error)) return 'fenced'
    if (isConflict(error)) return 'again'
    return isStorageFailure(error) ? 'storage' : 'rule'
  }

  describe(error: unknown): string {
    return isStorageFailure(error) ? describeFailure(error) : String(error)
  }

  faultOf(what: string, error: unknown): LedgerFault {
    return faultOf(what, error)
  }
}

const isOneStatement = (task: WriteTask): boolean => task.kind === 'settle' && task.debit.otherAttempts === undefined
