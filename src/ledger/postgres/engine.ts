/**
 * Transactions on Postgres: each first asserts that its node still owns its lane. A group that has only settles is one statement and needs no transaction. Rules: ledger.md
 * "Settles on Postgres".
 */

import type { LeaseAnswer } from '../lease-move.ts'
import type { KeyChange } from '../ledger.ts'
import type { NodeIdentity } from '../nodes.ts'
import type { Operation } from '../operation.ts'
import type { Connection } from '../sql/connection.ts'
import type { Numbers } from '../sql/numbers.ts'
import { prepareStatements, type Statements } from '../sql/statements.ts'
import type { LeaseTask, Task, WriteTask } from '../task.ts'
import type { LedgerFault } from '../thread-messages.ts'
import type { Engine, Purpose, Verdict } from '../writing/engine.ts'
import { messagesOf } from '../writing/node-messages.ts'
import { chainPlaceOf } from './chain-place.ts'
import { NeedsTransaction, PostgresDebits } from './debits.ts'
import { HeldRows } from './held-rows.ts'
import { moveLeases } from './leases.ts'
import { CHANNEL, encodeMessage } from './messages.ts'
import { RowLocks } from './row-locks.ts'
import { describeFailure, faultOf, isConflict, isFenced, isHeld, isStorageFailure } from './storage-failure.ts'

export class PostgresEngine implements Engine {
  readonly db: Connection
  readonly statements: Statements
  readonly waivesSpilled = true
  readonly boot: number
  readonly #node: NodeIdentity
  readonly #assertNode
  readonly #nodeOf
  readonly windowTimeOf: () => number
  readonly #notify
  readonly #locks: RowLocks
  readonly #heldRows: HeldRows
  #isAlone = true

  constructor(db: Connection, node: NodeIdentity) {
    this.db = db
    this.boot = node.boot
    this.#node = node
    this.statements = prepareStatements(db, chainPlaceOf(db, node.lane))
    this.#notify = db.query<unknown, [string, string]>('SELECT pg_notify(?, ?)')
    this.#assertNode = db.query<undefined, [number, number, number]>('SELECT assert_node(?, ?, ?)')
    this.#nodeOf = db.query<unknown, [number]>('SELECT lane FROM nodes WHERE boot_number = ? AND lease_until > 0 FOR KEY SHARE')
    const clock = db.query<{ now: bigint }, []>('SELECT clock_ms() AS now')
    this.windowTimeOf = () => Number(clock.get()?.now ?? 0n)
    this.#locks = new RowLocks(db)
    this.#heldRows = new HeldRows(db)
  }

  debitsOf(numbers: Numbers): PostgresDebits {
    return new PostgresDebits(this.db, this.statements, numbers, this.#node, () => this.#isAlone)
  }

  transact(write: () => void, { tasks = [] }: Purpose): void {
    if (tasks.length > 0 && tasks.every((task) => this.#isOneStatement(task))) {
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

  moveLeases(tasks: readonly LeaseTask[]): readonly (LeaseAnswer | undefined)[] {
    const moves = tasks.map((task) => (task.kind === 'ask' ? task.ask : task.release))
    return moveLeases(this.db, this.#node, moves)
  }

  heldAmong(tasks: readonly Task[]): ReadonlyMap<Task, number> {
    return this.#heldRows.among(tasks)
  }

  isFenced(boot: number): boolean {
    return boot !== this.boot && this.#nodeOf.get(boot) === null
  }

  announce(operation: Operation, changes: readonly KeyChange[]): void {
    for (const message of messagesOf(this.#node.lane, operation, changes)) this.#notify.get(CHANNEL, encodeMessage(message))
  }

  verdictOf(error: unknown): Verdict {
    if (isFenced(error)) return 'fenced'
    if (isConflict(error)) return 'again'
    if (isHeld(error)) return 'held'
    return isStorageFailure(error) ? 'storage' : 'rule'
  }

  describe(error: unknown): string {
    return isStorageFailure(error) ? describeFailure(error) : String(error)
  }

  faultOf(what: string, error: unknown): LedgerFault {
    return faultOf(what, error)
  }

  #isOneStatement(task: WriteTask): boolean {
    if (task.kind !== 'settle') return false
    const { otherAttempts, boot = this.boot } = task.debit
    return otherAttempts === undefined && boot === this.boot
  }
}
