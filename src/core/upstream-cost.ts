/** What a call costs us at its upstream: its tokens at the prices that the upstream charges, never what the customer pays. Rules: money.md "What a call costs us". */

import { type Picos, picos, roundHalfEven } from './money.ts'
import type { Prices } from './pricing.ts'

/** `prices`: those of the upstream, or the model's own, of which the cost is `factorMillionths` millionths. */
export type UpstreamCost = Readonly<{ prices: Prices; factorMillionths: number }>

/** The factor of prices that are meant as they stand. */
export const WHOLE_FACTOR = 1_000_000

/** The only place that rounds: once for each call, half to even. `pricePicos`: the call's tokens at the rates. */
export const upstreamCostOf = (pricePicos: Picos, factorMillionths: number): Picos =>
  factorMillionths === WHOLE_FACTOR ? pricePicos : picos(roundHalfEven(pricePicos * BigInt(factorMillionths), BigInt(WHOLE_FACTOR)))
