/** What Explore answers, row by row. Rules: pages.md "Explore". */

import type { Picos } from '../../core/money.ts'
import type { Usage } from '../../core/usage.ts'

export type ExploreSums = Readonly<{
  requests: number
  usage: Usage
  costPicos: Picos
  waivedPicos: Picos
  /** The part of the cost that rests on estimated tokens. */
  estimatedPicos: Picos
  /** What the requests cost us whose cost is known, which are `costed`. For operators alone. */
  upstreamCostPicos: Picos
  costed: number
}>

/** `name`: of a key or an account. */
export type Thing = Readonly<{ id: string; name: string }>
/** `hour`: the first one of the step; 0 for the whole span. `things`: in the order of `by`. */
export type ExploreRow = ExploreSums & Readonly<{ hour: number; things: readonly Thing[] }>
