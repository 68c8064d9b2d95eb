/** An attempt as readers get it, with names in place of the numbers in its row. */

import type { upstreams } from '../../../db/schema/prices.ts'
import type { attempts } from '../../../db/schema/requests.ts'
import type { Picos } from '../../core/money.ts'
import type { UsageSource } from '../../core/outcome.ts'
import type { Usage } from '../../core/usage.ts'
import { callOf, type UpstreamCall, usageOf } from '../columns/parts.ts'

/** An upstream call that may have cost us money and is not its request's receipt. For operators only. */
export type AttemptRow = Readonly<{
  requestId: string
  number: number
  accountId: string
  keyId: string
  modelId: string
  upstream: UpstreamCall
  /** HTTP status of the upstream; null: no status came. */
  status: number | null
  cause: string
  usageSource: UsageSource
  usage: Usage
  pricePicos: Picos
  /** What it cost us; null where that is not known. */
  upstreamCostPicos: Picos | null
  startedAt: number
  durationMs: number
}>

type Names = { accountId: string; keyId: string; modelId: string }
type AttemptParts = Names & { attempt: typeof attempts.$inferSelect; upstream: typeof upstreams.$inferSelect }

export function attemptOf({ attempt, upstream, ...names }: AttemptParts): AttemptRow {
  const { requestId, attempt: number, status, cause, basis, pricePicos, upstreamCostPicos, startedAt, durationMs } = attempt
  const call = callOf(upstream, attempt)
  const usage = usageOf(attempt)
  const prices = { pricePicos, upstreamCostPicos }
  return { requestId, number, ...names, upstream: call, status, cause, usageSource: basis, usage, ...prices, startedAt, durationMs }
}
