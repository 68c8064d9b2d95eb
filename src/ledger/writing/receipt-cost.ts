/** What a call cost us, as its row records it: the version that it is computed by, and the amount. Rules: money.md "What a call costs us". */

import { type Picos, picos } from '../../core/money.ts'
import { costOf } from '../../core/pricing.ts'
import { upstreamCostOf } from '../../core/upstream-cost.ts'
import { NO_USAGE, type Usage } from '../../core/usage.ts'
import type { PriceVersion } from '../columns/parts.ts'
import type { ReceiptCost } from '../columns/receipt.ts'
import type { Numbers } from '../sql/numbers.ts'
import type { Debit } from '../task.ts'

export type CallCost = Readonly<{ number: number; picos: Picos }>

export const NO_RECEIPT_COST: ReceiptCost = { upstreamCostNumber: null, upstreamCostPicos: null, cacheLostPicos: null }

export const costAt = ({ rates, factorMillionths }: PriceVersion, usage: Usage): Picos =>
  upstreamCostOf(costOf(usage, rates), factorMillionths)

/** `place`: of the version, in the list that was defined; undefined: the cost is not known. */
export function callCost(place: number | undefined, usage: Usage, numbers: Numbers): CallCost | undefined {
  if (place === undefined) return undefined
  const version = numbers.versionAt(place)
  return { number: numbers.priceOf(version), picos: costAt(version, usage) }
}

export function receiptCostOf({ upstreamCost, usage, hasMoved }: Debit, numbers: Numbers): ReceiptCost {
  const cost = callCost(upstreamCost, usage, numbers)
  if (cost === undefined || upstreamCost === undefined) return NO_RECEIPT_COST
  const lost = hasMoved === true ? costAt(numbers.versionAt(upstreamCost), cacheWritesOf(usage)) : picos(0n)
  return { upstreamCostNumber: cost.number, upstreamCostPicos: cost.picos, cacheLostPicos: lost === 0n ? null : lost }
}

const cacheWritesOf = ({ cacheWrite5m, cacheWrite1h }: Usage): Usage => ({ ...NO_USAGE, cacheWrite5m, cacheWrite1h })
