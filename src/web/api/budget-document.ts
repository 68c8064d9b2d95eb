/** Budgets by window as pages show them: each as it was set, with what its present window has of it. Rules: money.md "Budgets". */

import { budgetsOf, type Catalog } from '../../core/catalog.ts'
import { picos, toExactUsdText } from '../../core/money.ts'
import type { BudgetOf } from '../../core/spending.ts'
import { isoTime } from '../../core/utc.ts'
import type { Budgets } from '../../core/windows.ts'
import type { BudgetsAtRest } from '../../ledger/reading/account-reports.ts'
import { spentIn } from '../../ledger/reading/window-balances.ts'

type Of = Readonly<{ of: BudgetOf; plan: string | null; set_by: 'operator' | 'customer' }>

/** `plans`: those that the question named. */
export function budgetDocuments(
  { hour, key, account, plans: spentOfPlans, set }: BudgetsAtRest,
  plans: readonly string[],
  catalog: Catalog,
) {
  const shown = (of: Of, spentPicos: readonly bigint[], budgets: Budgets) =>
    spentIn(hour, spentPicos, budgets, of.of).map((window) => ({
      ...of,
      per: window.per,
      limit_usd: toExactUsdText(window.capPicos),
      spent_usd: toExactUsdText(window.spentPicos),
      left_usd: toExactUsdText(picos(window.capPicos - window.spentPicos)),
      resets_at: isoTime(window.resetsAt),
    }))
  return {
    data: [
      ...set.flatMap(({ isOfKey, setBy, ...budget }) =>
        shown({ of: isOfKey ? 'key' : 'account', plan: null, set_by: setBy }, isOfKey ? key : account, [budget]),
      ),
      ...plans.flatMap((plan, index) =>
        shown({ of: 'plan', plan, set_by: 'operator' }, spentOfPlans[index] ?? [], budgetsOf(catalog, plan)),
      ),
    ],
  }
}
