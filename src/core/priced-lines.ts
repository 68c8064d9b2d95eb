/** A request's price as a sum of lines, one for each counted kind: count × rate. Every page, document and command shows these lines. Rules: money.md "Prices". */

import { type Picos, picos } from './money.ts'
import type { Rates } from './pricing.ts'
import type { Usage } from './usage.ts'

export type PricedLine = Readonly<{ counter: keyof Usage; count: number; ratePicos: Picos; pricePicos: Picos }>

const RATE_OF: readonly (readonly [counter: keyof Usage, rate: keyof Rates])[] = [
  ['input', 'input'],
  ['output', 'output'],
  ['cacheRead', 'cacheRead'],
  ['cacheWrite5m', 'cacheWrite5m'],
  ['cacheWrite1h', 'cacheWrite1h'],
  ['serverToolUses', 'serverToolUse'],
]

/** All six lines, also those with a count of 0; their prices add up to what was charged, or waived. */
export const pricedLines = (usage: Usage, rates: Rates): readonly PricedLine[] =>
  RATE_OF.map(([counter, rate]) => ({
    counter,
    count: usage[counter],
    ratePicos: rates[rate],
    pricePicos: picos(BigInt(usage[counter]) * rates[rate]),
  }))
