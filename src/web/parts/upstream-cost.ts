/** What requests cost at their upstreams, as far as it is known: nothing known is not a cost of nothing, and a part is not the whole. Rules: pages.md "Explore". */

import { showCount } from './show-time.ts'

type Costed = Readonly<{ requests: number; upstream_cost_usd?: string | undefined; costed_requests?: number | undefined }>

export const hasUpstreamCost = ({ costed_requests = 0 }: Costed): boolean => costed_requests > 0

/** Null: none of them has a known cost. */
export const upstreamCostOf = (of: Costed): string | null => (hasUpstreamCost(of) ? (of.upstream_cost_usd ?? null) : null)

/** Null: there is nothing to say, because the cost of all or of none is known. */
export const knownCostNote = (total: Costed): string | null =>
  hasUpstreamCost(total) && (total.costed_requests ?? 0) < total.requests
    ? `The upstream cost of ${showCount(total.costed_requests ?? 0)} of ${showCount(total.requests)} requests is known.`
    : null
