/** The inputs that set or remove a budget by window: its window, and its amount, which is what was set there before. Rules: money.md "Budgets". */

import { useState } from 'preact/hooks'
import type { Per } from '../../core/windows.ts'
import type { Act } from './act.ts'
import { type Budget, PERS_TO_CHOOSE } from './budgets.tsx'
import { Choice } from './field.tsx'
import { UsdField } from './name-and-amount.tsx'

/** What is set: of the key or of the account, by this person's side. */
type Settable = Pick<Budget, 'of' | 'set_by'>

export function useBudget({ of, set_by }: Settable, shown: readonly Budget[]) {
  const capOf = (per: Per): string => shown.find((one) => one.of === of && one.set_by === set_by && one.per === per)?.limit_usd ?? ''
  const [per, setPer] = useState<Per>('day')
  const [limit, setLimit] = useState(() => capOf('day'))
  const limitUsd = limit.trim() === '' ? null : limit.trim()
  const choose = (chosen: Per): void => {
    setPer(chosen)
    setLimit(capOf(chosen))
  }
  return {
    per,
    limit,
    choose,
    setLimit,
    sent: { per, limit_usd: limitUsd },
    told: `The budget is ${limitUsd === null ? 'removed' : 'set'}`,
  }
}

type FieldsOptions = Readonly<{ act: Act; budget: ReturnType<typeof useBudget>; label: string; hint: string; autoFocus?: boolean }>

export const BudgetFields = ({ act, budget: { per, limit, choose, setLimit }, ...amount }: FieldsOptions) => (
  <>
    <Choice
      label="Window, by UTC"
      options={PERS_TO_CHOOSE}
      value={per}
      change={(chosen) => choose(chosen as Per)}
      error={act.errorOf('per')}
    />
    <UsdField act={act} field="limit_usd" value={limit} change={setLimit} {...amount} />
  </>
)

/** The inputs that have mistakes of their own. */
export const BUDGET_FIELDS = ['per', 'limit_usd'] as const
