/** Budgets by window in words: what is left of each, of how much, and until when. Rules: money.md "Budgets". */

import { Meter, shareOf } from './meter.tsx'
import { usdNumber } from './show-usd.ts'
import { Moment } from './time.tsx'
import { Usd } from './usd.tsx'

export type Budget = Readonly<{
  of: 'key' | 'account' | 'plan'
  plan: string | null
  set_by: 'operator' | 'customer'
  per: string
  limit_usd: string
  spent_usd: string
  left_usd: string
  resets_at: string
}>

const whose = ({ of, plan, set_by }: Budget, customer: string): string => {
  if (of === 'plan') return `of all keys of the plan ${plan}`
  return `of the ${of}, set by ${set_by === 'operator' ? 'the operator' : customer}`
}

export const WindowLeft = ({ left, limit, per, resetsAt }: Readonly<{ left: string; limit: string; per: string; resetsAt: string }>) => {
  const each = `${per === 'hour' ? 'an' : 'a'} ${per}`
  // The last requests of a window may cost more than was left.
  return left.startsWith('-') ? (
    <>
      <Usd exact={left.slice(1)} /> over <Usd exact={limit} /> {each}; nothing left until <Moment iso={resetsAt} />
    </>
  ) : (
    <>
      <Usd exact={left} /> of <Usd exact={limit} /> {each} left until <Moment iso={resetsAt} />
    </>
  )
}

/** `customer`: who else than the operator set some, in words. */
export const BudgetList = ({ budgets, customer = 'the customer' }: Readonly<{ budgets: readonly Budget[]; customer?: string }>) =>
  budgets.length === 0 ? (
    <p class="note">No budget of an hour, day, week or month is set.</p>
  ) : (
    <ul class="entries" aria-label="Budgets">
      {budgets.map((budget) => (
        <li key={`${budget.of} ${budget.plan} ${budget.set_by} ${budget.per}`}>
          <div class="entry">
            <WindowLeft left={budget.left_usd} limit={budget.limit_usd} per={budget.per} resetsAt={budget.resets_at} />;{' '}
            <Usd exact={budget.spent_usd} /> spent ({whose(budget, customer)})
            <Meter share={shareOf(usdNumber(budget.spent_usd), usdNumber(budget.limit_usd))} />
          </div>
        </li>
      ))}
    </ul>
  )

export const PERS_TO_CHOOSE = ['hour', 'day', 'week', 'month'].map((per) => ({ value: per, text: per }))
