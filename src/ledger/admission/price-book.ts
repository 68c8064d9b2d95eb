/**
 * The price versions that requests name by their place in the gateway's list, those of costs at upstreams among them; the ledger gives each version a number later. Rules:
 * money.md "Prices", "Price levels", "What a call costs us".
 */

import { levelOf, type Prices } from '../../core/pricing.ts'
import { type UpstreamCost, WHOLE_FACTOR } from '../../core/upstream-cost.ts'
import type { PriceVersion } from '../columns/parts.ts'
import { ratesText, versionsOf } from '../columns/price-levels.ts'

/** Finds a version by model and prices. The prices of a configuration are the same objects for every request, so the look-up is by identity first. */
export class PriceBook {
  readonly versions: PriceVersion[] = []
  readonly #last = new Map<string, Readonly<Prices & { index: number }>>()
  readonly #byText = new Map<string, number>()
  /** The places of costs, which are the same objects for every request of a configuration, too. */
  readonly #costs = new WeakMap<UpstreamCost, number>()

  /** The place in `versions` of the price for any prompt; the model's levels stand behind it. */
  indexOf(modelId: string, { rates, levels }: Prices): number {
    const last = this.#last.get(modelId)
    if (last?.rates === rates && last.levels === levels) return last.index
    const index = this.#placeOf(modelId, { rates, levels }, WHOLE_FACTOR)
    this.#last.set(modelId, { rates, levels, index })
    return index
  }

  /** The place of the cost of a call of so many prompt tokens. */
  costAt(modelId: string, cost: UpstreamCost, promptTokens: number): number {
    const first = this.#costs.get(cost) ?? this.#placeOf(modelId, cost.prices, cost.factorMillionths)
    this.#costs.set(cost, first)
    return first + levelOf(cost.prices, promptTokens)
  }

  #placeOf(modelId: string, prices: Prices, factorMillionths: number): number {
    const versions = versionsOf(modelId, prices, factorMillionths)
    const text = `${versions[0].group || ratesText(prices.rates)} ${factorMillionths} ${modelId}`
    const index = this.#byText.get(text) ?? this.versions.push(...versions) - versions.length
    this.#byText.set(text, index)
    return index
  }
}
