/** What an answer cost, for clients that ask to see it in its usage. Rules: requests.md "Cost of an answer". */

import type { Call, ReadContext } from '../format.ts'
import { type Picos, usdFields } from '../money.ts'
import { costOf, levelOf, ratesAt } from '../pricing.ts'
import { finalUsage, type Observation } from './observation.ts'

export const COST_HEADER = 'x-include-cost'

/** Whether the request asks for the cost by `x-include-cost`. */
export const includesCost = (headers: ReadContext['headers']): boolean => headers.get(COST_HEADER) === 'true'

/** The cost twice: as a number with 6 decimals, and as text with every digit. */
export type CostFields = Readonly<ReturnType<typeof usdFields<'cost', Picos>>>

type Priced = Pick<Call<unknown>, 'model' | 'bounds'>
export type Costed = Priced & Pick<Call<unknown>, 'includesCost'>

/** The fields with the cost of a complete answer. */
export function costFields(seen: Observation, { model, bounds }: Priced): CostFields {
  const { usage, promptTokens } = finalUsage(seen, bounds)
  return usdFields('cost', costOf(usage, ratesAt(model, levelOf(model, promptTokens))))
}

/** The fields with the cost; none when the request did not ask for it. */
export const costIfAsked = (seen: Observation, call: Costed): Partial<CostFields> => (call.includesCost ? costFields(seen, call) : NOTHING)

const NOTHING = {}
