/** The port by which `GroupWrites` writes the ends of requests into a store: receipts with their sums, checkpoints and attempts as rows. Rules: ledger.md "Group commit". */

import { dayAt } from '../../core/utc.ts'
import type { Numbers } from '../sql/numbers.ts'
import type { Calls, Debit, InFlightCheckpoint, PriceVersion } from '../task.ts'

/** A receipt to write: the number of its price, the version behind it, and the UTC day that it counts for. */
export type Priced = Readonly<{ debit: Debit; price: number; version: PriceVersion; day: number }>

export function pricedOf(debit: Debit, numbers: Numbers): Priced {
  const version = numbers.versionAt(debit.price)
  return { debit, price: numbers.priceOf(version), version, day: dayAt(debit.now) }
}

/** Inside the caller's transaction: what breaks a rule of the database is thrown, and the caller rolls back. */
export interface Debits {
  /** In their order: false where the request has a receipt already, and nothing was written. What reads the sums waits for `flush`. */
  insert(debits: readonly Priced[]): readonly boolean[]
  putCheckpoint(checkpoint: InFlightCheckpoint, now: number): void
  /** One that is recorded already stays as it is. */
  insertAttempts(calls: Calls): void
  /** Writes what waits for the others of its group. */
  flush(): void
  /** The transaction was rolled back: drops what waits, and where the chains ended. */
  forget(): void
  /** Others may have written to the accounts: the ends of their chains are read again. Nothing waits. */
  reread(): void
  /** Between transactions. */
  committed(): void
}
