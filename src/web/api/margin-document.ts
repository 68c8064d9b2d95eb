/** The margin of a span of days as the console and the operator's API show it. Rules: money.md "Margin"; operator-api.md "Lists". */

import type { Catalog } from '../../core/catalog.ts'
import { toExactUsdText } from '../../core/money.ts'
import { dayText } from '../../core/utc.ts'
import { withoutCost } from '../../core/without-cost.ts'
import { groupMargin, type MarginBy, marginIn, sumMargin, upstreamCostIn } from '../../ledger/reading/margin.ts'
import type { MarginRow, MarginSums } from '../../ledger/reading/margin-reads.ts'

type Asked = Readonly<{ by: MarginBy; fromDay: number; toDay: number }>

/** What is beyond `rowsMax` rows is one more. */
export function marginDocument(rows: readonly MarginRow[], { by, fromDay, toDay }: Asked, rowsMax: number, catalog: Catalog) {
  const things = groupMargin(rows, by)
  const rest = things.slice(rowsMax)
  return {
    by,
    from: dayText(fromDay),
    to: dayText(toDay),
    data: things.slice(0, rowsMax).map(({ id, name, ...sums }) => ({ id, name, ...sumsDocument(sums) })),
    others: rest.length === 0 ? null : { count: rest.length, ...sumsDocument(sumMargin(rest)) },
    total: sumsDocument(sumMargin(rows)),
    without_cost: withoutCost(catalog).map(({ upstream, models }) => ({ upstream, models: [...models] })),
  }
}

const sumsDocument = (sums: MarginSums) => ({
  requests: sums.requests,
  other_calls: sums.calls,
  charged_usd: toExactUsdText(sums.chargedPicos),
  waived_usd: toExactUsdText(sums.waivedPicos),
  upstream_cost_usd: toExactUsdText(upstreamCostIn(sums)),
  /** The part of the cost that no receipt covers. */
  other_calls_cost_usd: toExactUsdText(sums.callsCostPicos),
  cache_lost_usd: toExactUsdText(sums.cacheLostPicos),
  margin_usd: toExactUsdText(marginIn(sums)),
})
