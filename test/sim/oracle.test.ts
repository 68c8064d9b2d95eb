/**
 * Prices as an operator writes them, counters as an upstream tells them, and every way in which a request can end, against an oracle that only knows decimals: from the
 * configuration to the charge there is no other figure. Rules: money.md "Prices", "Charges".
 */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { ModelEntry } from '../../src/config/catalog-schema.ts'
import { pricesOf } from '../../src/config/prices.ts'
import { toExactUsdText } from '../../src/core/money.ts'
import { nothingSeen, observe } from '../../src/core/native/observation.ts'
import { chargeOf, OUTCOMES } from '../../src/core/outcome.ts'
import { costOf } from '../../src/core/pricing.ts'
import type { Usage } from '../../src/core/usage.ts'
import { GOLDEN_BOUNDS } from '../support/golden.ts'
import { runs } from '../support/property-runs.ts'
import { costText, type PriceList, picosOf, productText } from './oracle.ts'

/** Decimal text below `most`, with up to so many places. */
const decimalText = (most: number, places: number): fc.Arbitrary<string> =>
  fc
    .tuple(fc.nat(most - 1), fc.nat(places))
    .chain(([whole, length]) =>
      length === 0
        ? fc.constant(`${whole}`)
        : fc.stringMatching(new RegExp(`^[0-9]{${length}}$`)).map((fraction) => `${whole}.${fraction}`),
    )

type Prices = Readonly<Record<'input' | 'output' | 'cache_read' | 'cache_write' | 'cache_write_1h' | 'server_tool_use', string>>

/** Four places and two make six, which is a picodollar a token: one more of them is no whole one. */
const prices: fc.Arbitrary<Prices> = fc.record({
  input: decimalText(200, 4),
  output: decimalText(900, 6),
  cache_read: decimalText(2, 3),
  cache_write: decimalText(4, 3),
  cache_write_1h: decimalText(6, 2),
  server_tool_use: decimalText(3, 12),
})
const defaults: fc.Arbitrary<Partial<Prices>> = fc
  .subarray(['cache_read', 'cache_write', 'cache_write_1h', 'server_tool_use'] as const)
  .map((names) => Object.fromEntries(names.map((name) => [name, undefined])))
const tokens = fc.oneof(fc.constant(0), fc.nat(3_000_000))
/** Such as can be true: something was read. What cannot is estimated, and no price list says what that costs. */
const usages: fc.Arbitrary<Usage> = fc
  .record({
    input: tokens,
    output: tokens,
    cacheRead: tokens,
    cacheWrite5m: tokens,
    cacheWrite1h: tokens,
    serverToolUses: fc.nat(60),
  })
  .filter(({ input, cacheRead, cacheWrite5m, cacheWrite1h }) => input + cacheRead + cacheWrite5m + cacheWrite1h > 0)

const priceListOf = (given: Partial<Prices> & Pick<Prices, 'input' | 'output'>): PriceList => ({
  input: given.input,
  output: given.output,
  cacheRead: productText(given.input, given.cache_read ?? '0.1'),
  cacheWrite5m: productText(given.input, given.cache_write ?? '1.25'),
  cacheWrite1h: productText(given.input, given.cache_write_1h ?? '2'),
  serverToolUse: given.server_tool_use ?? '0',
})

/** A price of a million tokens that is no whole number of picodollars a token has a digit after the sixth. */
const isWhole = (usdPerMillion: string): boolean => (usdPerMillion.split('.')[1] ?? '').length <= 6

/** The answer as the upstream tells it: everything at its start, then once more with the last figures. */
function told(usage: Usage) {
  const seen = nothingSeen()
  const native = {
    input_tokens: usage.input,
    output_tokens: usage.output,
    cache_read_input_tokens: usage.cacheRead,
    cache_creation_input_tokens: usage.cacheWrite5m + usage.cacheWrite1h,
    cache_creation: { ephemeral_5m_input_tokens: usage.cacheWrite5m, ephemeral_1h_input_tokens: usage.cacheWrite1h },
    server_tool_use: { web_search_requests: usage.serverToolUses },
  }
  observe(seen, { type: 'message_start', body: { message: { id: 'msg_1', usage: { ...native, output_tokens: 0 } } } })
  observe(seen, { type: 'message_delta', body: { delta: { stop_reason: 'end_turn' }, usage: native } })
  return seen
}

const WAIVED = new Set<string>(['fault', 'drain', 'recovered'])

test('a charge is what the price list says in decimals, with every multiplier and counter, whoever pays it', () => {
  let refused = 0
  fc.assert(
    fc.property(prices, defaults, usages, fc.constantFrom(...OUTCOMES), (written, left, usage, outcome) => {
      const given = { ...written, ...left }
      const entry = { id: 'model', context_window: 1_000, max_output_tokens: 1_000, ...given } as ModelEntry
      const problems: Parameters<typeof pricesOf>[2] = []
      const prices = pricesOf(entry, 'models[0]', problems)
      const list = priceListOf(given)
      const broken = [list.input, list.output, list.cacheRead, list.cacheWrite5m, list.cacheWrite1h].filter((price) => !isWhole(price))
      expect(problems).toHaveLength(broken.length)
      if (broken.length > 0) {
        refused++
        return
      }
      const usd = costText(usage, list)
      expect(toExactUsdText(costOf(usage, prices.rates))).toBe(usd)
      const charge = chargeOf(outcome, told(usage), GOLDEN_BOUNDS, prices)
      if (charge === 'void') throw new Error('an answer that was told whole is charged or waived')
      expect(charge.usage).toEqual(usage)
      const [paid, waived] = WAIVED.has(outcome) ? ['0', usd] : [usd, '0']
      expect([toExactUsdText(charge.costPicos), toExactUsdText(charge.waivedPicos)]).toEqual([paid, waived])
      expect(picosOf(usd)).toBe(charge.costPicos + charge.waivedPicos)
    }),
    { numRuns: runs(1_000) },
  )
  expect(refused).toBeWithin(1, runs(1_000))
})

test('the oracle works out what the price list says, as text', () => {
  const counts = { input: 1_200, output: 300, cacheRead: 10_000, cacheWrite5m: 7, cacheWrite1h: 3, serverToolUses: 2 }
  const prices = { input: '3', output: '15', cacheRead: '0.3', cacheWrite5m: '3.75', cacheWrite1h: '6', serverToolUse: '0.01' }
  // 0.0036 + 0.0045 + 0.003 + 0.00002625 + 0.000018 + 0.02
  expect(costText(counts, prices)).toBe('0.03114425')
  expect(picosOf('0.03114425')).toBe(31_144_250_000n)
  expect(() => picosOf('0.0000000000001')).toThrow('no whole number')
})
