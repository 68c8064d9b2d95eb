/** The port by which `GroupWrites` writes the ends of requests into a store: receipts with their sums, checkpoints and attempts as rows. Rules: ledger.md "Group commit". */

import { dayAt } from '../../core/utc.ts'
import type { PriceVersion } from '../columns/parts.ts'
import type { ReceiptCost } from '../columns/receipt.ts'
import type { Numbers } from '../sql/numbers.ts'
import type { Calls, Debit, InFlightCheckpoint } from '../task.ts'
import { receiptCostOf } from './receipt-cost.ts'

/** A receipt to write: the number of its price, the version behind it, the UTC day that it counts for, and what the call cost us. */
export type Priced = Readonly<{ debit: Debit; price: number; version: PriceVersion; day: number; cost: ReceiptCost }>

export function pricedOf(debit: Debit, numbers: Numbers): Priced {
  const version = numbers.versionAt(debit.price)
  return { debit, price: numbers.priceOf(version), version, day: dayAt(debit.now), cost: receiptCostOf(debit, numbers) }
}

/** Inside the caller's transaction: what breaks a rule of the database is thrown, and the caller rolls back. */
export interface Debits {
  /** For each debit in order: false when the request already has a receipt and nothing was written. The sums are right only after `flush`. */
  insert(debits: readonly Priced[]): readonly boolean[]
  putCheckpoint(checkpoint: InFlightCheckpoint, now: number): void
  /** Writes attempts; an attempt that is recorded already stays as it is. */
  insertAttempts(calls: Calls): void
  /** Writes the rows that wait to be written together with others of the group. */
  flush(): void
  /** To be called after a rollback: drops the rows that wait and the remembered ends of the chains. */
  forget(): void
  /** To be called when others may have written to the accounts and no row waits: reads the ends of the chains again. */
  reread(): void
  /** To be called after a commit, between transactions. */
  committed(): void
}
