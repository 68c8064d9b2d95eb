/**
 * What `GroupWrites` needs of SQLite or Postgres beyond common SQL: transactions, locks of rows, leases, and the class of an error. Rules: ledger.md
 * "Two stores".
 */

import type { LeaseAnswer } from '../lease-move.ts'
import type { KeyChange } from '../ledger.ts'
import type { Operation } from '../operation.ts'
import type { Connection } from '../sql/connection.ts'
import type { Numbers } from '../sql/numbers.ts'
import type { Statements } from '../sql/statements.ts'
import type { LeaseTask, Task, WriteTask } from '../task.ts'
import type { LedgerFault } from '../thread-messages.ts'
import type { Debits } from './debits.ts'

/**
 * `isDurable`: the commit must survive a loss of power. `tasks`: the tasks that the transaction writes, when it writes a group; their rows are locked first.
 */
export type Purpose = Readonly<{ isDurable: boolean; tasks?: readonly WriteTask[] }>

/**
 * Why a transaction failed. `rule`: what was written broke a rule, or our code has a bug; the storage works. `again`: another transaction was in the way; the
 * same write may work at once. `held`: another transaction keeps a row locked that this one needs. `fenced`: another node has taken over this node's lane, and this
 * node writes no more.
 */
export type Verdict = 'rule' | 'storage' | 'again' | 'held' | 'fenced'

export interface Engine {
  readonly db: Connection
  readonly statements: Statements
  readonly boot: number
  /** Writes the rows of this boot's receipts, checkpoints and attempts. `numbers` gives the numbers of the price versions that the rows name. */
  debitsOf(numbers: Numbers): Debits
  /** Runs `write`: all of it holds, or nothing. `write` may run more than once. Throws the error that undid it. */
  transact(write: () => void, purpose: Purpose): void
  /** Tells the other nodes, or a file's relays, what an operation changed, when the transaction commits. */
  announce?(operation: Operation, changes: readonly KeyChange[]): void
  /**
   * Whether a boot was fenced, so that what it admitted is waived. The answer does not change before the transaction ends. On a file: whether the boot is that of a relay
   * that is gone.
   */
  isFenced?(boot: number): boolean
  /** On Postgres: what a fenced boot had spilled is waived, too. A file's spills have only what was acknowledged before the relay was gone, and before others got its leases. */
  readonly waivesSpilled?: true
  /** Does the tasks in their order, on Postgres in a transaction of their own. Throws the error that undid all of them. */
  moveLeases?(tasks: readonly LeaseTask[]): readonly (LeaseAnswer | undefined)[]
  /** The tasks that have to wait because another transaction keeps their rows locked, each with its account. Throws errors of the storage. */
  heldAmong?(tasks: readonly Task[]): ReadonlyMap<Task, number>
  /** On Postgres: the time by its own clock, in Unix milliseconds; absent: the only writer's clock counts. */
  windowTimeOf?(this: void): number
  verdictOf(error: unknown): Verdict
  /** The database's message, which holds no value of a row. */
  describe(error: unknown): string
  faultOf(what: string, error: unknown): LedgerFault
}
