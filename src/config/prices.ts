/**
 * From the price list to rates: exact, or refused by name. A dollar a million tokens is a million picodollars a token; a multiplier applies to the input
 * price. Rules: contract.md "Price"; money.md "Prices".
 */

import { BALANCE_PICOS_MAX, type Picos, parseUsd, picos, toExactUsdText, ZERO } from '../core/money.ts'
import { holdFor, PASSES_MAX, type Rates } from '../core/pricing.ts'
import { SERVER_TOOL_USES_MAX } from '../core/usage.ts'
import type { ModelEntry } from './catalog-schema.ts'
import type { ConfigProblem } from './problems.ts'

const CACHE_READ = '0.10'
const CACHE_WRITE = '1.25'
const CACHE_WRITE_1H = '2.00'
/** Picodollars a token, of one dollar a million tokens. */
const PICOS_PLACES = 6

type Decimal = Readonly<{ digits: bigint; places: number }>

/** The rates of a model at `path`; each field that has no whole number of picodollars becomes one of the `problems`. */
export function ratesOf(model: ModelEntry, path: string, problems: ConfigProblem[]): Rates {
  const whole = (field: string, phrase: string, rate: Picos | undefined): Picos => {
    if (rate === undefined)
      problems.push({ path: `${path}.${field}`, message: `expected a whole number of picodollars (10⁻¹² USD) a token, found ${phrase}` })
    return rate ?? ZERO
  }
  const times = (field: string, multiplier: string): Picos => {
    const rate = product(decimal(model.input), decimal(multiplier))
    return whole(field, `${multiplier} × ${model.input} USD a million`, rate)
  }
  const price = (field: string, usd: string): Picos => whole(field, `${usd} USD a million`, product(decimal(usd)))
  const rates: Rates = {
    input: price('input', model.input),
    output: price('output', model.output),
    cacheRead: times('cache_read', model.cache_read ?? CACHE_READ),
    cacheWrite5m: times('cache_write', model.cache_write ?? CACHE_WRITE),
    cacheWrite1h: times('cache_write_1h', model.cache_write_1h ?? CACHE_WRITE_1H),
    serverToolUse: parseUsd(model.server_tool_use ?? '0') ?? ZERO,
  }
  if (worstCase(model, rates) > BALANCE_PICOS_MAX) problems.push({ path, message: 'one request could cost more than an account can hold' })
  return rates
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
/** A millionth of a dollar is as many picodollars as a millionth part has places. */
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

/** A full context window at the dearest rate in every pass, a full answer, and every use of a tool: must fit where amounts are kept. */
const worstCase = (model: ModelEntry, rates: Rates): Picos =>
  holdFor(
    {
      bodyBytes: 0,
      hasOpaqueInput: true,
      passes: PASSES_MAX,
      serverToolUsesMax: SERVER_TOOL_USES_MAX,
      cacheWrites: '1h',
      outputTokensMax: model.max_output_tokens,
    },
    rates,
    model.context_window,
  )
