/** The price versions that requests name by their place in the gateway's list; the ledger gives each version a number later. Rules: money.md "Prices", "Price levels". */

import type { Prices } from '../../core/pricing.ts'
import type { PriceVersion } from '../columns/parts.ts'
import { ratesText, versionsOf } from '../columns/price-levels.ts'

/** Finds a version by model and prices. The prices of a configuration are the same objects for every request, so the look-up is by identity first. */
export class PriceBook {
  readonly versions: PriceVersion[] = []
  readonly #last = new Map<string, Readonly<Prices & { index: number }>>()
  readonly #byText = new Map<string, number>()

  /** The place in `versions` of the price for any prompt; the model's levels stand behind it. */
  indexOf(modelId: string, { rates, levels }: Prices): number {
    const last = this.#last.get(modelId)
    if (last?.rates === rates && last.levels === levels) return last.index
    const versions = versionsOf(modelId, { rates, levels })
    const text = `${versions[0].group || ratesText(rates)} ${modelId}`
    const index = this.#byText.get(text) ?? this.versions.push(...versions) - versions.length
    this.#byText.set(text, index)
    this.#last.set(modelId, { rates, levels, index })
    return index
  }
}
