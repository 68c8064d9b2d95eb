/** What a request costs and what is reserved for it. Rules: contract.md "Price"; money.md "Holds". */

import { maxPicos, type Picos, picos, ZERO } from './money.ts'
import type { Usage } from './usage.ts'

/** Picodollars a token, and a use of a server tool. The receipt keeps the rates it was computed with. */
export type Rates = Readonly<{
  input: Picos
  output: Picos
  cacheRead: Picos
  cacheWrite5m: Picos
  cacheWrite1h: Picos
  serverToolUse: Picos
}>

/** The rates of prompts above so many tokens: of the whole request, not only of the tokens above. */
type PriceLevel = Readonly<{ abovePromptTokens: number; rates: Rates }>

/** What a model costs: `rates`, and levels above them, in rising order of their prompts. */
export type Prices = Readonly<{ rates: Rates; levels: readonly PriceLevel[] }>

/** Of a prompt, cache reads and writes with it: 0 is `rates`, 1 the first level. */
export const levelOf = ({ levels }: Prices, promptTokens: number): number =>
  levels.findLastIndex(({ abovePromptTokens }) => promptTokens > abovePromptTokens) + 1

export const ratesAt = ({ rates, levels }: Prices, level: number): Rates => levels[level - 1]?.rates ?? rates

/** Exact: no rounding, no minimum, no multiplier but those in the rates. */
export const costOf = (usage: Usage, rates: Rates): Picos =>
  picos(
    times(usage.input, rates.input) +
      times(usage.output, rates.output) +
      times(usage.cacheRead, rates.cacheRead) +
      times(usage.cacheWrite5m, rates.cacheWrite5m) +
      times(usage.cacheWrite1h, rates.cacheWrite1h) +
      times(usage.serverToolUses, rates.serverToolUse),
  )

/** Most counters of most requests are 0, and a bigint is made for each that is not. */
const times = (count: number, rate: bigint): bigint => (count === 0 ? ZERO : BigInt(count) * rate)

/** What the cached tokens would have cost at the input rate less what they cost: less than 0 where writes cost more than reads saved. */
export const savedByCache = (usage: Usage, rates: Rates): Picos =>
  picos(
    BigInt(usage.cacheRead) * (rates.input - rates.cacheRead) -
      BigInt(usage.cacheWrite5m) * (rates.cacheWrite5m - rates.input) -
      BigInt(usage.cacheWrite1h) * (rates.cacheWrite1h - rates.input),
  )

/** The facts of a request that bound its cost. */
export type Bounds = Readonly<{
  /** Bytes of the body that goes to the upstream: a token is never shorter than a byte. */
  bodyBytes: number
  /** Images, documents, URLs or server tools: their tokens are not bounded by the body, so the whole context window is. */
  hasOpaqueInput: boolean
  /** How often the upstream may read the input again by itself: 0 to `PASSES_MAX`. */
  passes: number
  /** Uses of the upstream's own tools that the request allows. */
  serverToolUsesMax: number
  /** The dearest cache write that the request asks for. */
  cacheWrites: 'none' | '5m' | '1h'
  outputTokensMax: number
  /** What a token is taken for where the upstream gives no figure, as the model's configuration says. */
  bytesPerToken: number
  /** Tokens that the input is taken for there: never more than is held for it. */
  inputEstimate: number
}>

/** More passes are not reserved for: what such a request really costs is counted when it is above its hold. */
export const PASSES_MAX = 10

/**
 * The worst case of a request: input bound × passes over it × the dearest input rate it can use + output cap × output rate + uses of tools × their price, at the dearest
 * level that the input can reach.
 */
export function holdFor(bounds: HeldBounds, prices: Prices, contextWindow: number): Picos {
  const inputTokens = inputTokensMax(bounds, contextWindow)
  const atBase = worstCaseAt(prices.rates, bounds, inputTokens)
  return levelsInReach(prices, inputTokens).reduce(
    (dearest, { rates }) => maxPicos(dearest, worstCaseAt(rates, bounds, inputTokens)),
    atBase,
  )
}

/** The most tokens of output, up to the request's own cap, with which its worst case is no more than `capPicos`; -1 where its input alone may cost more. */
export function outputTokensWithin(capPicos: Picos, bounds: HeldBounds, prices: Prices, contextWindow: number): number {
  const inputTokens = inputTokensMax(bounds, contextWindow)
  const tokensAt = (rates: Rates): number => {
    const left = capPicos - worstCaseAt(rates, { ...bounds, outputTokensMax: 0 }, inputTokens)
    if (left < ZERO) return -1
    return rates.output === ZERO ? bounds.outputTokensMax : Number(left / rates.output)
  }
  const reached = [prices, ...levelsInReach(prices, inputTokens)]
  return reached.reduce((least, { rates }) => Math.min(least, tokensAt(rates)), bounds.outputTokensMax)
}

type HeldBounds = Omit<Bounds, 'bytesPerToken' | 'inputEstimate'>

const inputTokensMax = ({ bodyBytes, hasOpaqueInput, passes }: HeldBounds, contextWindow: number): number =>
  (hasOpaqueInput ? contextWindow : Math.min(contextWindow, bodyBytes)) * (1 + passes)

const levelsInReach = ({ levels }: Prices, inputTokens: number): readonly PriceLevel[] =>
  levels.length === 0 ? levels : levels.filter(({ abovePromptTokens }) => inputTokens > abovePromptTokens)

function worstCaseAt(rates: Rates, bounds: HeldBounds, inputTokens: number): Picos {
  return picos(
    times(inputTokens, dearestInput(bounds.cacheWrites, rates)) +
      times(bounds.outputTokensMax, rates.output) +
      times(bounds.serverToolUsesMax, rates.serverToolUse),
  )
}

function dearestInput(cacheWrites: Bounds['cacheWrites'], rates: Rates): Picos {
  if (cacheWrites === 'none') return rates.input
  const dearest = maxPicos(rates.input, maxPicos(rates.cacheRead, rates.cacheWrite5m))
  return cacheWrites === '1h' ? maxPicos(dearest, rates.cacheWrite1h) : dearest
}
