/** A wallet as its leases see it, and what an answer of the ledger changes of one lease. Pure. Rules: ledger.md "Leases". */

import { covers, type Lease } from '../../core/lease.ts'
import { heldEarlier, type Spending } from '../../core/spending.ts'
import type { Budgets } from '../../core/windows.ts'
import { type AskedWindows, earlierOf, type LeaseSide } from '../lease-move.ts'

/** `unsettledPicos`: the cost of settles that were sent and are not acknowledged. */
export type Leasing = Spending & { unsettledPicos: bigint; readonly lease: Lease }
type LeasedAccount = Leasing & {
  readonly number: number
  balancePicos: bigint
  budgets: Budgets
  readonly plans: ReadonlyMap<string, unknown>
}
type LeasedPlan = Leasing & { readonly name: string; readonly accountNumber: number }
export type LeasedKey<Account extends LeasedAccount = LeasedAccount, Plan extends LeasedPlan = LeasedPlan> = Leasing & {
  readonly number: number
  readonly account: Account
  readonly plan: Plan
  limitPicos: bigint | null
  budgets: Budgets
  pins: number
}

export type Sides = Readonly<{ account?: LeasedAccount | undefined; plan?: LeasedPlan | undefined; key?: LeasedKey | undefined }>

export function learnLease({ lease, unsettledPicos }: Leasing, { backedPicos, hasMore, isSmall }: LeaseSide, isAsk: boolean): void {
  lease.amountPicos = backedPicos - unsettledPicos
  lease.isIndeterminate = hasMore
  if (isAsk) lease.isSmall = isSmall
}

/** Called when an ask was granted. `hour`: undefined where no budget holds. */
export function learnGrant(key: LeasedKey, hour = 0, asked?: AskedWindows): void {
  for (const [{ lease }, held] of [
    [key.account, asked?.account],
    [key.plan, asked?.plan],
    [key, asked?.key],
  ] as const) {
    lease.hour = hour
    lease.earlierPicos = earlierOf(asked?.hour ?? null, hour, held)
  }
}

/** Whether the lease covers in the hour: only if it was granted for it, and nothing of what ended requests of earlier hours have left. any: no budget holds on it. */
export function coversIn(leasing: Leasing, amountPicos: bigint, hour: number | undefined | 'any'): boolean {
  if (hour === 'any') return covers(leasing, amountPicos)
  const left = leasing.lease.earlierPicos - heldEarlier(leasing)
  return leasing.lease.hour === hour && covers(leasing, amountPicos, left > 0n ? left : 0n)
}

export function forgetIdle({ lease, unsettledPicos }: Leasing): void {
  lease.amountPicos = -unsettledPicos
  lease.isIndeterminate = true
}

export function shrink<One extends Leasing>(one: One | undefined, amountPicos: bigint | undefined): One | undefined {
  if (one === undefined || amountPicos === undefined) return undefined
  if (amountPicos < one.lease.amountPicos) one.lease.amountPicos = amountPicos
  one.lease.isReleasing = true
  return one
}

export const hasNothing = ({ lease, unsettledPicos }: Leasing): boolean =>
  lease.amountPicos <= 0n && lease.asks === 0 && !lease.isReleasing && !lease.isIndeterminate && unsettledPicos === 0n
