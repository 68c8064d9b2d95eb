/** The budgets that hold for a key: its own, its account's, and those that its plan has for the account. Rules: money.md "Budgets". */

import type { KeyBalance } from '../../core/key.ts'
import type { Picos } from '../../core/money.ts'
import { balancesOf, NO_WINDOWS, turn, type WindowBalance } from '../../core/spending.ts'
import { type Budgets, PERS, type Per } from '../../core/windows.ts'
import type { KeyWallet } from './wallet.ts'

/** The budgets that the configuration gives a plan now. */
export type BudgetsOfPlan = (plan: string) => Budgets

/** The windows of all budgets of the key at the hour; `ofPlan`: those that its plan has now. */
export function windowsOf(key: KeyWallet, ofPlan: Budgets, hour: number): readonly WindowBalance[] {
  const { account, plan } = key
  if (key.budgets.length + account.budgets.length + ofPlan.length === 0) return NO_WINDOWS
  for (const one of [key, account, plan]) turn(one, hour)
  return [...balancesOf(key, key.budgets, 'key'), ...balancesOf(account, account.budgets, 'account'), ...balancesOf(plan, ofPlan, 'plan')]
}

/** The key's balance with its windows; a key without budgets is its own balance. */
export function balanceWithin(key: KeyWallet, ofPlan: Budgets, hour: number): KeyBalance<bigint> {
  const windows = windowsOf(key, ofPlan, hour)
  if (windows === NO_WINDOWS) return key
  const { limitPicos, spentPicos, heldPicos, account } = key
  return { limitPicos, spentPicos, heldPicos, account, windows }
}

/** The budgets in the order of `PERS`, with this one set or, with null, without it. */
export const withBudget = (budgets: Budgets, per: Per, capPicos: Picos | null): Budgets =>
  PERS.flatMap((one) => {
    const capOfOne = one === per ? capPicos : (budgets.find((budget) => budget.per === one)?.capPicos ?? null)
    return capOfOne === null ? [] : [{ per: one, capPicos: capOfOne }]
  })

export const isSameBudgets = (some: Budgets, others: Budgets): boolean =>
  some.length === others.length &&
  some.every(({ per, capPicos }, index) => others[index]?.per === per && others[index]?.capPicos === capPicos)
