/** The port by which `GroupWrites` uses a store's database beyond common SQL: transactions, and whose fault an error is. Rules: ledger.md "Two stores". */

import type { KeyChange } from '../ledger.ts'
import type { Operation } from '../operation.ts'
import type { Connection } from '../sql/connection.ts'
import type { Numbers } from '../sql/numbers.ts'
import type { Statements } from '../sql/statements.ts'
import type { LeaseAnswer, LeaseTask, LedgerFault, Task, WriteTask } from '../task.ts'
import type { Debits } from './debits.ts'

/** `isDurable`: it must survive power loss. `tasks`: all that is written, where it is a group's. */
export type Purpose = Readonly<{ isDurable: boolean; tasks?: readonly WriteTask[] }>

/**
 * `rule`: of what was written or of our code; nothing is wrong with the storage. `again`: another transaction was in the way, and the same may work at once.
 * `held`: another transaction keeps a row locked that it needs. `fenced`: another node took over what this one held, which writes no more.
 */
export type Verdict = 'rule' | 'storage' | 'again' | 'held' | 'fenced'

export interface Engine {
  readonly db: Connection
  readonly statements: Statements
  readonly boot: number
  /** Rows of this boot. `numbers`: of the price versions that they name. */
  debitsOf(numbers: Numbers): Debits
  /** All of `write` or nothing; it may be run more than once. Throws what undid it. */
  transact(write: () => void, purpose: Purpose): void
  /** Where others write as well: tells them, with the transaction, what an operation changed. */
  announce?(operation: Operation, changes: readonly KeyChange[]): void
  /** Whether a boot was fenced, so that what it admitted is waived. It stays as it is until the transaction ends. A file's boots never are. */
  isFenced?(boot: number): boolean
  /** Where others write as well: in a transaction of its own, in their order. Throws what undid all of them. */
  moveLeases?(tasks: readonly LeaseTask[]): readonly (LeaseAnswer | undefined)[]
  /** The account of each task that cannot be done now, because another transaction keeps its rows locked. Throws what the storage says. */
  heldAmong?(tasks: readonly Task[]): ReadonlyMap<Task, number>
  verdictOf(error: unknown): Verdict
  /** In the database's words, in which no value is. */
  describe(error: unknown): string
  faultOf(what: string, error: unknown): LedgerFault
}
