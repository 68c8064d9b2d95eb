/** The price versions of a model whose price depends on the prompt: one for each level. Together they form a group, whose text lists them all. Rules: money.md "Price levels". */

import { picos } from '../../core/money.ts'
import type { Prices, Rates } from '../../core/pricing.ts'
import { WHOLE_FACTOR } from '../../core/upstream-cost.ts'
import type { PriceVersion } from './parts.ts'

const RATES = ['input', 'output', 'cacheRead', 'cacheWrite5m', 'cacheWrite1h', 'serverToolUse'] as const satisfies readonly (keyof Rates)[]

/** The versions in rising order of their levels; the one for any prompt is first. */
export function versionsOf(
  modelId: string,
  { rates, levels }: Prices,
  factorMillionths = WHOLE_FACTOR,
): readonly [PriceVersion, ...PriceVersion[]] {
  const all = [{ abovePromptTokens: 0, rates }, ...levels]
  const group = levels.length === 0 ? '' : all.map((level) => `${level.abovePromptTokens}:${ratesText(level.rates)}`).join(' ')
  const [first, ...later] = all.map((level) => ({ modelId, ...level, group, factorMillionths }))
  return [first as PriceVersion, ...later]
}

/** All versions of the group of `version`; only `version` if it has no group. */
export function groupOf(version: PriceVersion): readonly PriceVersion[] {
  const { modelId, group, factorMillionths } = version
  if (group === '') return [version]
  return group.split(' ').map((level) => {
    const [above = '', texts = ''] = level.split(':')
    return { modelId, group, factorMillionths, abovePromptTokens: Number(above), rates: ratesIn(texts.split(',')) }
  })
}

/** The longest prompt that a version is charged for: where its group has a level above it, that level begins there. */
export const longestPromptOf = ({ group, abovePromptTokens }: Pick<PriceVersion, 'group' | 'abovePromptTokens'>): number =>
  group
    .split(' ')
    .map((level) => Number(level.split(':')[0]))
    .find((above) => above > abovePromptTokens) ?? Number.POSITIVE_INFINITY

export const ratesText = (rates: Rates): string => RATES.map((name) => rates[name]).join(',')

function ratesIn(texts: readonly string[]): Rates {
  const [input = '', output = '', cacheRead = '', cacheWrite5m = '', cacheWrite1h = '', serverToolUse = ''] = texts
  const rate = (text: string) => picos(BigInt(text))
  return {
    input: rate(input),
    output: rate(output),
    cacheRead: rate(cacheRead),
    cacheWrite5m: rate(cacheWrite5m),
    cacheWrite1h: rate(cacheWrite1h),
    serverToolUse: rate(serverToolUse),
  }
}
