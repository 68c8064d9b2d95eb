/** The price of a request to the last picodollar, and a hold that covers whatever the request may come to. */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { picos, ZERO } from '../../src/core/money.ts'
import { type Bounds, costOf, holdFor, levelOf, outputTokensWithin, type Prices, type Rates, ratesAt } from '../../src/core/pricing.ts'
import { NO_USAGE, promptOf, type Usage } from '../../src/core/usage.ts'
import { runs } from '../support/property-runs.ts'

const rate = fc.bigInt(0n, 10n ** 9n).map(picos)
const ZERO_RATES: Rates = { input: ZERO, output: ZERO, cacheRead: ZERO, cacheWrite5m: ZERO, cacheWrite1h: ZERO, serverToolUse: ZERO }

const rates: fc.Arbitrary<Rates> = fc.record({
  input: rate,
  output: rate,
  cacheRead: rate,
  cacheWrite5m: rate,
  cacheWrite1h: rate,
  serverToolUse: rate,
})
const prices: fc.Arbitrary<Prices> = fc.record({
  rates,
  levels: fc
    .array(fc.record({ abovePromptTokens: fc.integer({ min: 1, max: 200_000 }), rates }), { maxLength: 3 })
    .map((levels) => levels.sort((a, b) => a.abovePromptTokens - b.abovePromptTokens)),
})
const tokens = fc.nat(2_000_000)
const usage: fc.Arbitrary<Usage> = fc.record({
  input: tokens,
  output: tokens,
  cacheRead: tokens,
  cacheWrite5m: tokens,
  cacheWrite1h: tokens,
  serverToolUses: fc.nat(100),
})

/** A fraction of whole numbers: the oracle that knows nothing of picodollars. */
type Fraction = { over: bigint; under: bigint }
const fraction = (decimal: string): Fraction => {
  const [whole = '0', part = ''] = decimal.split('.')
  return { over: BigInt(whole + part), under: 10n ** BigInt(part.length) }
}
const times = (a: Fraction, b: Fraction): Fraction => ({ over: a.over * b.over, under: a.under * b.under })
const plus = (a: Fraction, b: Fraction): Fraction => ({ over: a.over * b.under + b.over * a.under, under: a.under * b.under })

test("the contract's formula, computed in fractions of dollars per million tokens, gives the same cost to the last digit", () => {
  const price = fc.tuple(fc.nat(99), fc.nat(99)).map(([dollars, cents]) => `${dollars}.${String(cents).padStart(2, '0')}`)
  const perToken = (usdPerMillion: Fraction): bigint => {
    const scaled = usdPerMillion.over * 10n ** 6n
    expect(scaled % usdPerMillion.under).toBe(0n)
    return scaled / usdPerMillion.under
  }
  fc.assert(
    fc.property(price, price, usage, (inputPrice, outputPrice, drawn) => {
      const counted = { ...drawn, cacheWrite1h: 0, serverToolUses: 0 }
      const [rateIn, rateOut] = [fraction(inputPrice), fraction(outputPrice)]
      const read = times(rateIn, fraction('0.10'))
      const write = times(rateIn, fraction('1.25'))
      const terms: [number, Fraction][] = [
        [counted.input, rateIn],
        [counted.output, rateOut],
        [counted.cacheRead, read],
        [counted.cacheWrite5m, write],
      ]
      const dollars = terms
        .map(([count, usd]) => times({ over: BigInt(count), under: 10n ** 6n }, usd))
        .reduce(plus, { over: 0n, under: 1n })
      const cost = costOf(counted, {
        input: picos(perToken(rateIn)),
        output: picos(perToken(rateOut)),
        cacheRead: picos(perToken(read)),
        cacheWrite5m: picos(perToken(write)),
        cacheWrite1h: picos(0n),
        serverToolUse: picos(0n),
      })
      expect(cost * dollars.under).toBe(dollars.over * 10n ** 12n)
    }),
  )
})

test('every class of tokens costs its own rate', () => {
  const own: Rates = {
    input: picos(2n),
    output: picos(3n),
    cacheRead: picos(5n),
    cacheWrite5m: picos(7n),
    cacheWrite1h: picos(11n),
    serverToolUse: picos(13n),
  }
  const one: [keyof Usage, bigint][] = [
    ['input', 2n],
    ['output', 3n],
    ['cacheRead', 5n],
    ['cacheWrite5m', 7n],
    ['cacheWrite1h', 11n],
    ['serverToolUses', 13n],
  ]
  for (const [name, cost] of one) expect(costOf({ ...NO_USAGE, [name]: 1 }, own)).toBe(picos(cost))
})

test('a hold reserves at the dearest rate that the request can use: 1 h writes, 5 m writes, plain input', () => {
  const own: Rates = {
    input: picos(3n),
    output: picos(15n),
    cacheRead: picos(1n),
    cacheWrite5m: picos(4n),
    cacheWrite1h: picos(6n),
    serverToolUse: picos(100n),
  }
  const bounds = { bodyBytes: 1_000, hasOpaqueInput: false, passes: 0, serverToolUsesMax: 0, outputTokensMax: 10 }
  const hold = (cacheWrites: Bounds['cacheWrites']): bigint => holdFor({ ...bounds, cacheWrites }, { rates: own, levels: [] }, 200_000)
  expect([hold('1h'), hold('5m'), hold('none')]).toEqual([6_150n, 4_150n, 3_150n])
})

const FIVE_TIMES: Rates = { ...ZERO_RATES, input: picos(5n), output: picos(25n) }
const LEVELLED: Prices = {
  rates: { ...ZERO_RATES, input: picos(1n), output: picos(5n) },
  levels: [{ abovePromptTokens: 100_000, rates: FIVE_TIMES }],
}

test('a prompt is at the highest level that it is above, and its whole request has the rates of that', () => {
  const levels = [100, 200, 300].map((abovePromptTokens) => ({ abovePromptTokens, rates: FIVE_TIMES }))
  const at = (tokens: number): number => levelOf({ ...LEVELLED, levels }, tokens)
  expect([0, 100, 101, 200, 201, 300, 301, 9_999].map(at)).toEqual([0, 0, 1, 1, 2, 2, 3, 3])
  const charged = (input: number): bigint => costOf({ ...NO_USAGE, input, output: 10 }, ratesAt(LEVELLED, levelOf(LEVELLED, input)))
  expect([charged(100_000), charged(100_001)]).toEqual([100_050n, 500_255n])
})

test('a hold is at the dearest level that its input can reach, passes over it with it', () => {
  const bounds = { hasOpaqueInput: false, passes: 0, serverToolUsesMax: 0, cacheWrites: 'none', outputTokensMax: 10 } as const
  const hold = (bodyBytes: number, more = {}): bigint => holdFor({ ...bounds, bodyBytes, ...more }, LEVELLED, 200_000)
  expect([hold(100_000), hold(100_001), hold(50_001, { passes: 1 })]).toEqual([100_050n, 500_255n, 500_260n])
  expect(hold(10, { hasOpaqueInput: true })).toBe(1_000_250n)
  const cheaper = { rates: FIVE_TIMES, levels: [{ abovePromptTokens: 100_000, rates: LEVELLED.rates }] }
  expect(holdFor({ ...bounds, bodyBytes: 150_000 }, cheaper, 200_000)).toBe(picos(750_250n))
})

const bounds: fc.Arbitrary<Bounds> = fc.record({
  bodyBytes: fc.nat(400_000),
  hasOpaqueInput: fc.boolean(),
  passes: fc.nat(10),
  serverToolUsesMax: fc.nat(20),
  cacheWrites: fc.constantFrom('none', '5m', '1h'),
  outputTokensMax: fc.nat(128_000),
  bytesPerToken: fc.constant(4),
  inputEstimate: fc.constant(0),
})

test('a hold covers every usage that stays within its bounds', () => {
  const share = fc.nat(1_000).map((thousandths) => thousandths / 1_000)
  const shares = fc.tuple(share, share, share, share, share)
  fc.assert(
    fc.property(bounds, prices, fc.nat(200_000), shares, (limit, drawn, contextWindow, [a, b, c, d, e]) => {
      const known = (of: Rates): Rates => ({ ...of, cacheRead: limit.cacheWrites === 'none' ? picos(0n) : of.cacheRead })
      const levels = drawn.levels.map((level) => ({ ...level, rates: known(level.rates) }))
      const list: Prices = { rates: known(drawn.rates), levels }
      let left = (1 + limit.passes) * (limit.hasOpaqueInput ? contextWindow : Math.min(contextWindow, limit.bodyBytes))
      const take = (part: number, isAllowed = true): number => {
        const taken = isAllowed ? Math.floor(part * left) : 0
        left -= taken
        return taken
      }
      const used: Usage = {
        cacheWrite1h: take(a, limit.cacheWrites === '1h'),
        cacheWrite5m: take(b, limit.cacheWrites !== 'none'),
        cacheRead: take(c),
        input: take(d),
        output: Math.floor(e * limit.outputTokensMax),
        serverToolUses: Math.floor(e * limit.serverToolUsesMax),
      }
      expect(costOf(used, ratesAt(list, levelOf(list, promptOf(used)))) <= holdFor(limit, list, contextWindow)).toBe(true)
    }),
  )
})

test('the tokens within a cap are the most: their hold is within it, and that of one more is not, at whatever level', () => {
  const part = fc.nat(1_200)
  let lowered = 0
  const within = fc.property(bounds, prices, fc.nat(200_000), part, fc.boolean(), (asked, list, contextWindow, thousandths, isOneLess) => {
    const holdOf = (outputTokensMax: number): bigint => holdFor({ ...asked, outputTokensMax }, list, contextWindow)
    const [least, most] = [holdOf(0), holdOf(asked.outputTokensMax)]
    const cap = picos(least + ((most - least) * BigInt(thousandths)) / 1_000n - (isOneLess ? 1n : 0n))
    const tokens = outputTokensWithin(cap, asked, list, contextWindow)
    if (tokens === -1) expect(least > cap).toBe(true)
    else expect(holdOf(tokens) <= cap).toBe(true)
    if (tokens >= 0 && tokens < asked.outputTokensMax) {
      lowered++
      expect(holdOf(tokens + 1) > cap).toBe(true)
    }
    expect(tokens).toBeLessThanOrEqual(asked.outputTokensMax)
  })
  fc.assert(within, { numRuns: runs(200) })
  expect(lowered).toBeGreaterThan(20)
})

test('what output costs nothing is not lowered, and what the input alone costs too much is not saved by it', () => {
  const asked = { bodyBytes: 10, hasOpaqueInput: false, passes: 0, serverToolUsesMax: 0, cacheWrites: 'none', outputTokensMax: 7 } as const
  const free = { rates: { ...ZERO_RATES, input: picos(3n) }, levels: [] }
  expect([picos(30n), picos(29n)].map((cap) => outputTokensWithin(cap, asked, free, 200_000))).toEqual([7, -1])
  const levelled = {
    rates: { ...ZERO_RATES, output: picos(1n) },
    levels: [{ abovePromptTokens: 9, rates: { ...ZERO_RATES, output: picos(4n) } }],
  }
  expect([9, 10].map((bodyBytes) => outputTokensWithin(picos(6n), { ...asked, bodyBytes }, levelled, 200_000))).toEqual([6, 1])
})
