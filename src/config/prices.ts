/**
 * Turns the price list into exact rates; a price without an exact rate is refused with its field. A dollar a million tokens is a million picodollars a token; a
 * multiplier applies to the input price. Rules: contract.md "Price"; money.md "Prices".
 */

import { BALANCE_PICOS_MAX, type Picos, parseUsd, picos, toExactUsdText, ZERO } from '../core/money.ts'
import { holdFor, PASSES_MAX, type Prices, type Rates } from '../core/pricing.ts'
import { SERVER_TOOL_USES_MAX } from '../core/usage.ts'
import type { ModelEntry } from './catalog-schema.ts'
import type { ConfigProblem } from './problems.ts'

const CACHE_READ = '0.10'
const CACHE_WRITE = '1.25'
const CACHE_WRITE_1H = '2.00'
/** The power of ten in one dollar a million tokens: 10⁶ picodollars a token. */
const PICOS_PLACES = 6

type Decimal = Readonly<{ digits: bigint; places: number }>

/** What a model at `path` costs; each field that has no whole number of picodollars, and each level out of order, becomes one of the `problems`. */
export function pricesOf(model: PricedEntry, path: string, problems: ConfigProblem[]): Prices {
  const { levels = [], server_tool_use = '0', context_window } = model
  const serverToolUse = parseUsd(server_tool_use) ?? ZERO
  const prices: Prices = {
    rates: { ...ratesOf(model, path, problems), serverToolUse },
    levels: levels.map((level, index) => ({
      abovePromptTokens: level.above_prompt_tokens,
      rates: { ...ratesOf({ ...multipliersOf(model), ...level }, `${path}.levels[${index}]`, problems), serverToolUse },
    })),
  }
  for (const [index, { above_prompt_tokens }] of levels.entries()) {
    const field = `${path}.levels[${index}].above_prompt_tokens`
    const before = levels[index - 1]?.above_prompt_tokens ?? 0
    if (index > 0 && above_prompt_tokens <= before)
      problems.push({ path: field, message: `expected more than ${before}, that of the level before` })
    if (above_prompt_tokens >= context_window)
      problems.push({ path: field, message: `expected less than the context window of ${context_window}: no prompt is above it` })
  }
  if (worstCase(model, prices) > BALANCE_PICOS_MAX) problems.push({ path, message: 'one request could cost more than an account can hold' })
  return prices
}

type PriceEntry = Pick<ModelEntry, 'input' | 'output' | 'cache_read' | 'cache_write' | 'cache_write_1h'>
export type PricedEntry = PriceEntry & Pick<ModelEntry, 'server_tool_use' | 'levels' | 'context_window' | 'max_output_tokens'>

/** The model's multipliers, which a level has where it names none. */
function multipliersOf({ cache_read, cache_write, cache_write_1h }: PriceEntry): Partial<PriceEntry> {
  return {
    ...(cache_read === undefined ? {} : { cache_read }),
    ...(cache_write === undefined ? {} : { cache_write }),
    ...(cache_write_1h === undefined ? {} : { cache_write_1h }),
  }
}

function ratesOf(entry: PriceEntry, path: string, problems: ConfigProblem[]): Omit<Rates, 'serverToolUse'> {
  const whole = (field: string, phrase: string, rate: Picos | undefined): Picos => {
    if (rate === undefined)
      problems.push({ path: `${path}.${field}`, message: `expected a whole number of picodollars (10⁻¹² USD) a token, found ${phrase}` })
    return rate ?? ZERO
  }
  const times = (field: string, multiplier: string): Picos => {
    const rate = product(decimal(entry.input), decimal(multiplier))
    return whole(field, `${multiplier} × ${entry.input} USD a million`, rate)
  }
  const price = (field: string, usd: string): Picos => whole(field, `${usd} USD a million`, product(decimal(usd)))
  return {
    input: price('input', entry.input),
    output: price('output', entry.output),
    cacheRead: times('cache_read', entry.cache_read ?? CACHE_READ),
    cacheWrite5m: times('cache_write', entry.cache_write ?? CACHE_WRITE),
    cacheWrite1h: times('cache_write_1h', entry.cache_write_1h ?? CACHE_WRITE_1H),
  }
}

/** Rates as the file writes them: USD a million tokens, and multipliers of the input price, to six places. */
export const priceList = ({ input, output, cacheRead, cacheWrite5m, cacheWrite1h }: Rates) => ({
  input: usdAMillion(input),
  output: usdAMillion(output),
  cacheRead: multiplierOf(cacheRead, input),
  cacheWrite: multiplierOf(cacheWrite5m, input),
  cacheWrite1h: multiplierOf(cacheWrite1h, input),
})

const usdAMillion = (rate: Picos): string => toExactUsdText(picos(rate * 1_000_000n))
/** Writes a multiplier as if it were dollars: a millionth of it becomes 10⁶ picodollars. */
const multiplierOf = (rate: Picos, input: Picos): string =>
  input === ZERO ? '0' : toExactUsdText(picos(((rate * 1_000_000n) / input) * 1_000_000n))

const decimal = (text: string): Decimal => {
  const [whole = '0', fraction = ''] = text.split('.')
  return { digits: BigInt(whole + fraction), places: fraction.length }
}

/** Dollars a million tokens (times a multiplier) in picodollars a token; undefined when that is not a whole number. */
function product(...factors: readonly Decimal[]): Picos | undefined {
  const digits = factors.reduce((result, factor) => result * factor.digits, 1n)
  const places = factors.reduce((sum, factor) => sum + factor.places, 0) - PICOS_PLACES
  if (places <= 0) return picos(digits * 10n ** BigInt(-places))
  const step = 10n ** BigInt(places)
  return digits % step === 0n ? picos(digits / step) : undefined
}

/** A full context window at the dearest rate in every pass, a full answer, and every use of a tool: this price must fit where amounts are kept. */
export const worstCase = (model: Pick<ModelEntry, 'context_window' | 'max_output_tokens'>, prices: Prices): Picos =>
  holdFor(
    {
      bodyBytes: 0,
      hasOpaqueInput: true,
      passes: PASSES_MAX,
      serverToolUsesMax: SERVER_TOOL_USES_MAX,
      cacheWrites: '1h',
      outputTokensMax: model.max_output_tokens,
    },
    prices,
    model.context_window,
  )
