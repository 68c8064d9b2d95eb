/** What a request costs and what is reserved for it. Rules: contract.md "Price"; money.md "Holds". */

import { maxPicos, type Picos, picos, ZERO } from './money.ts'
import type { Usage } from './usage.ts'

/** Picodollars for each token, and for each use of a server tool. The receipt keeps the rates that its cost was computed with. */
export type Rates = Readonly<{
  input: Picos
  output: Picos
  cacheRead: Picos
  cacheWrite5m: Picos
  cacheWrite1h: Picos
  serverToolUse: Picos
}>

/** The rates for prompts of more than `abovePromptTokens`: they apply to the whole request, not only to the tokens above. */
type PriceLevel = Readonly<{ abovePromptTokens: number; rates: Rates }>

/** What a model costs: `rates`, and levels above them, in rising order of their prompts. */
export type Prices = Readonly<{ rates: Rates; levels: readonly PriceLevel[] }>

/** The price level of a prompt, whose tokens include cache reads and writes: 0 is `rates`, 1 the first of `levels`. */
export const levelOf = ({ levels }: Prices, promptTokens: number): number =>
  levels.findLastIndex(({ abovePromptTokens }) => promptTokens > abovePromptTokens) + 1

export const ratesAt = ({ rates, levels }: Prices, level: number): Rates => levels[level - 1]?.rates ?? rates

/** The exact cost: no rounding, no minimum, no multiplier but those in the rates. */
export const costOf = (usage: Usage, rates: Rates): Picos =>
  picos(
    times(usage.input, rates.input) +
      times(usage.output, rates.output) +
      times(usage.cacheRead, rates.cacheRead) +
      times(usage.cacheWrite5m, rates.cacheWrite5m) +
      times(usage.cacheWrite1h, rates.cacheWrite1h) +
      times(usage.serverToolUses, rates.serverToolUse),
  )

/** A count of 0 makes no bigint: most counters of most requests are 0. */
const times = (count: number, rate: bigint): bigint => (count === 0 ? ZERO : BigInt(count) * rate)

/** What the cached tokens would have cost at the input rate less what they cost: negative where writes cost more than reads saved. */
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
  /** Images, documents, URLs or server tools: the body's bytes do not bound their tokens, so the input bound is the whole context window. */
  hasOpaqueInput: boolean
  /** How often the upstream may read the input again of its own accord: 0 to `PASSES_MAX`. */
  passes: number
  /** Uses of the upstream's own tools that the request allows. */
  serverToolUsesMax: number
  /** The dearest cache write that the request asks for. */
  cacheWrites: 'none' | '5m' | '1h'
  outputTokensMax: number
  /** The bytes that count as a token where the upstream gives no figure; the model's configuration sets it. */
  bytesPerToken: number
  /** The estimate of the input's tokens, used there: never more than is held for the input. */
  inputEstimate: number
}>

/** The hold reserves no more passes than these; a request that costs more than its hold is counted by a metric. */
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
