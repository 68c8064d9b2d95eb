/** The money of an account, of its keys of one plan, and of a key as memory knows it: what its row said, and what came since. Rules: ledger.md "Wallets"; money.md "Budgets". */

import { emptyLease, type Lease } from '../../core/lease.ts'
import { type Spans, spansOf } from '../../core/spending.ts'
import { type Budgets, NO_BUDGETS } from '../../core/windows.ts'
import type { KeyState } from '../key-state.ts'

/** What each wallet has. `unsettledPicos`: the cost of settles that were sent and are not acknowledged, which counts as spent here. `spans`: the present sums. */
type Wallet = {
  spentPicos: bigint
  heldPicos: bigint
  unsettledPicos: bigint
  readonly lease: Lease
  readonly spans: Spans
}

/** `spentPicos`: since the wallet was made. `budgets`: those of all of its keys together. `plans`: by the plan's name. */
export type AccountWallet = Wallet & {
  id: string
  number: number
  isActive: boolean
  balancePicos: bigint
  budgets: Budgets
  toppedUpAt: number
  keys: number
  readonly plans: Map<string, PlanWallet>
}

/** The keys of a plan that an account has, on which the plan's budgets hold together. `spentPicos`: since the wallet was made. */
export type PlanWallet = Wallet & { readonly name: string; readonly accountNumber: number }

export type KeyWallet = Wallet & {
  id: string
  number: number
  account: AccountWallet
  plan: PlanWallet
  isActive: boolean
  expiresAt: number | null
  limitPicos: bigint | null
  budgets: Budgets
  lastSyncedAt: number
  pins: number
}

const emptyWallet = ({ hour, aheadFrom }: NonNullable<KeyState['sums']>, spentPicos: bigint, sums: readonly bigint[]): Wallet => ({
  spentPicos,
  heldPicos: 0n,
  unsettledPicos: 0n,
  lease: emptyLease(),
  spans: spansOf(spentPicos, { hour, aheadFrom, spentPicos: sums }),
})

const NO_SUMS: NonNullable<KeyState['sums']> = {
  hour: 0,
  clockHour: 0,
  aheadFrom: null,
  key: [],
  plan: [],
  account: [],
  keyBudgets: NO_BUDGETS,
  accountBudgets: NO_BUDGETS,
}

export const accountWallet = ({ sums = NO_SUMS, ...state }: KeyState): AccountWallet => ({
  ...emptyWallet(sums, 0n, sums.account),
  id: state.accountId,
  number: state.accountNumber,
  isActive: state.isAccountActive,
  balancePicos: state.balancePicos,
  budgets: sums.accountBudgets,
  toppedUpAt: state.toppedUpAt ?? 0,
  keys: 0,
  plans: new Map(),
})

/** The wallet of the key's plan, which is made where the account has none. */
export function planWallet({ plan, sums = NO_SUMS }: KeyState, { plans, number }: AccountWallet): PlanWallet {
  const known = plans.get(plan)
  if (known !== undefined) return known
  const made = { ...emptyWallet(sums, 0n, sums.plan), name: plan, accountNumber: number }
  plans.set(plan, made)
  return made
}

export const keyWallet = ({ sums = NO_SUMS, ...state }: KeyState, account: AccountWallet, plan: PlanWallet): KeyWallet => ({
  ...emptyWallet(sums, state.spentPicos, sums.key),
  id: state.keyId,
  number: state.keyNumber,
  account,
  plan,
  isActive: state.isActive,
  expiresAt: state.expiresAt,
  limitPicos: state.limitPicos,
  budgets: sums.keyBudgets,
  lastSyncedAt: state.lastSyncedAt,
  pins: 0,
})
