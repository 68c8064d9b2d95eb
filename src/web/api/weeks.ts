/** What an account spent in the last seven whole days beside the seven before, and the models whose spend changed most. Rules: pages.md "Spend". */

import { type Picos, picos, sumPicos, toExactUsdText, ZERO } from '../../core/money.ts'
import type { SpendRow } from '../../ledger/reading/account-reports.ts'

export const WEEK_DAYS = 7
/** The most models whose change is shown. */
const CHANGES_SHOWN = 3

type Spent = Pick<SpendRow, 'id' | 'day' | 'costPicos'>

/** `spent`: by model and day. `toDay`: the day that runs, which is in neither week: it would look like a fall each morning. */
export function weeksOf(all: readonly Spent[], toDay: number) {
  const spent = all.filter(({ day }) => day < toDay && day >= toDay - 2 * WEEK_DAYS)
  const isNow = ({ day }: Spent): boolean => day >= toDay - WEEK_DAYS
  const costOf = (rows: readonly Spent[]) => sumPicos(...rows.map(({ costPicos }) => costPicos))
  const [now, before] = [spent.filter(isNow), spent.filter((row) => !isNow(row))]
  const changes = [...new Set(spent.map(({ id }) => id))].map((id) => {
    const of = (rows: readonly Spent[]) => costOf(rows.filter((row) => row.id === id))
    return { model: id, picos: picos(of(now) - of(before)) }
  })
  const size = (amount: Picos): bigint => (amount < ZERO ? -amount : amount)
  return {
    week_usd: toExactUsdText(costOf(now)),
    week_before_usd: toExactUsdText(costOf(before)),
    week_changes: changes
      .filter((one) => one.picos !== ZERO)
      .toSorted((a, b) => Number(size(b.picos) - size(a.picos)) || (a.model < b.model ? -1 : 1))
      .slice(0, CHANGES_SHOWN)
      .map((one) => ({ model: one.model, usd: toExactUsdText(one.picos) })),
  }
}
