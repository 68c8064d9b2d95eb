/** What the upstreams of a model charge us for it, where the configuration says so. Rules: money.md "What a call costs us"; operator.md "Configuration". */

import type { Model } from '../core/catalog.ts'
import { BALANCE_PICOS_MAX } from '../core/money.ts'
import type { Prices } from '../core/pricing.ts'
import { type UpstreamCost, upstreamCostOf, WHOLE_FACTOR } from '../core/upstream-cost.ts'
import type { CostEntry, ModelEntry, UpstreamEntry } from './catalog-schema.ts'
import { pricesOf, worstCase } from './prices.ts'
import type { ConfigProblem } from './problems.ts'

/** By the name of the upstream. A cost that stands in the model wins over that of the upstream, which holds for all of its models. */
export function costsOf(
  entry: ModelEntry,
  path: string,
  prices: Prices,
  all: readonly UpstreamEntry[],
  problems: ConfigProblem[],
): Pick<Model, 'costs'> {
  const costs = new Map<string, UpstreamCost>()
  const costAt = (cost: CostEntry, place: string): UpstreamCost =>
    typeof cost === 'string'
      ? factorOf(cost, entry, prices, place, problems)
      : { prices: pricesOf({ ...cost, ...windowOf(entry) }, place, problems), factorMillionths: WHOLE_FACTOR }
  for (const [index, { name, cost }] of all.entries()) {
    const own = entry.upstreams?.findIndex((one) => (typeof one === 'string' ? one : one.name) === name) ?? -1
    const named = entry.upstreams?.[own]
    if (entry.upstreams !== undefined && named === undefined) continue
    const ofModel = typeof named === 'object' ? named.cost : undefined
    if (ofModel !== undefined) costs.set(name, costAt(ofModel, `${path}.upstreams[${own}].cost`))
    else if (cost !== undefined) costs.set(name, costAt(cost, `upstreams[${index}].cost`))
  }
  return costs.size === 0 ? {} : { costs }
}

const windowOf = ({ context_window, max_output_tokens }: ModelEntry) => ({ context_window, max_output_tokens })

function factorOf(text: string, entry: ModelEntry, prices: Prices, path: string, problems: ConfigProblem[]): UpstreamCost {
  const [whole = '0', fraction = ''] = text.split('.')
  const factorMillionths = Number(whole) * WHOLE_FACTOR + Number(fraction.padEnd(6, '0'))
  if (upstreamCostOf(worstCase(entry, prices), factorMillionths) > BALANCE_PICOS_MAX)
    problems.push({ path, message: `one request of ${entry.id} could cost more than an amount of the ledger can hold` })
  return { prices, factorMillionths }
}
