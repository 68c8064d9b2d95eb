/** The windows of budgets as rows say them: nothing is held of what is at rest. Rules: money.md "Budgets". */

import { type BudgetOf, balancesOf, spansOf, type WindowBalance } from '../../core/spending.ts'
import type { Budgets } from '../../core/windows.ts'
import type { KeyWindows } from '../key-state.ts'

/** The windows of the budgets of a key, of its account, and of those that its plan has for the account. */
export const windowsAtRest = (sums: KeyWindows, ofPlan: Budgets): readonly WindowBalance[] => [
  ...spentIn(sums.hour, sums.key, sums.keyBudgets, 'key'),
  ...spentIn(sums.hour, sums.account, sums.accountBudgets, 'account'),
  ...spentIn(sums.hour, sums.plan, ofPlan, 'plan'),
]

/** `spentPicos`: in the windows of the hour, in the order of `PERS`. */
export const spentIn = (hour: number, spentPicos: readonly bigint[], budgets: Budgets, of: BudgetOf): readonly WindowBalance[] =>
  balancesOf({ spentPicos: 0n, heldPicos: 0n, spans: spansOf(0n, { hour, aheadFrom: null, spentPicos }) }, budgets, of)
