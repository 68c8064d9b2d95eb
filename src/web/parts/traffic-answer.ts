/** The gateway's answer to a question of Explore about refusals and first bytes. Rules: pages.md "Explore". */

import type { GroupName } from './explore-view.ts'
import type { Explored } from './explored.ts'

type Figures = Readonly<{
  /** Null by reason, since only what was refused has one. */
  requests: number | null
  refused: number
  p50_ms: number | null
  p95_ms: number | null
  p99_ms: number | null
}>
export type TrafficGroup = Figures & Readonly<{ ids: readonly string[] }>
export type TrafficAnswer = Readonly<{
  by: readonly GroupName[]
  step: string
  measure: string
  places: readonly string[]
  /** `ids`: null for all others. A value is null where nothing was counted. */
  series: readonly Readonly<{ ids: readonly string[] | null; values: readonly (number | null)[] }>[]
  data: readonly TrafficGroup[]
  others: (Figures & Readonly<{ count: number }>) | null
  total: Figures
  /** After when requests may be missing. */
  lost_after: readonly string[]
}>

export const isTrafficAnswer = (answer: Explored | TrafficAnswer): answer is TrafficAnswer => 'lost_after' in answer
