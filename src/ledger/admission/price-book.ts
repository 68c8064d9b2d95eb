/** The price versions that requests name by a number, as the gateway keeps them until the ledger gives them theirs. Rules: money.md "Prices". */

import type { Rates } from '../../core/pricing.ts'
import type { PriceVersion } from '../columns/parts.ts'

/** By model and rates. The rates of a configuration are the same object for every request, so the look-up is by identity first. */
export class PriceBook {
  readonly versions: PriceVersion[] = []
  readonly #last = new Map<string, Readonly<{ rates: Rates; index: number }>>()
  readonly #byText = new Map<string, number>()

  indexOf(modelId: string, rates: Rates): number {
    const last = this.#last.get(modelId)
    if (last?.rates === rates) return last.index
    const { input, output, cacheRead, cacheWrite5m, cacheWrite1h, serverToolUse } = rates
    const text = [input, output, cacheRead, cacheWrite5m, cacheWrite1h, serverToolUse, modelId].join(' ')
    const index = this.#byText.get(text) ?? this.versions.push({ modelId, rates }) - 1
    this.#byText.set(text, index)
    this.#last.set(modelId, { rates, index })
    return index
  }
}
