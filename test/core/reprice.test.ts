/** Past receipts under another catalogue: to the last picodollar what fractions of its price list say, and every sum agrees with the others. Rules: money.md "What if". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { ModelEntry } from '../../src/config/catalog-schema.ts'
import { pricesOf } from '../../src/config/prices.ts'
import { picos, ZERO } from '../../src/core/money.ts'
import { OUTCOMES, type Outcome } from '../../src/core/outcome.ts'
import { addRepriced, differenceOf, NOTHING_REPRICED, type PastReceipt, RepricedSums, repriced } from '../../src/core/reprice.ts'
import type { Usage } from '../../src/core/usage.ts'

/** A fraction of picodollars: never rounded. */
type Fraction = readonly [numerator: bigint, denominator: bigint]
const decimal = (text: string): Fraction => {
  const [whole = '', part = ''] = text.split('.')
  return [BigInt(whole + part), 10n ** BigInt(part.length)]
}
const times = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * c, b * d]
const plus = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * d + c * b, b * d]

/** USD a million tokens are as many millions of picodollars a token. */
const A_MILLION: Fraction = [1_000_000n, 1n]

/** Out of the words of the price list alone. */
function oracle(model: ModelEntry, usage: Usage, promptTokens: number): Fraction {
  const level = (model.levels ?? []).filter(({ above_prompt_tokens }) => promptTokens > above_prompt_tokens).at(-1)
  const at = { ...model, ...level }
  const part = (count: number, price: string, multiplier: string): Fraction =>
    times([BigInt(count), 1n], times(A_MILLION, times(decimal(price), decimal(multiplier))))
  return [
    part(usage.input, at.input, '1'),
    part(usage.output, at.output, '1'),
    part(usage.cacheRead, at.input, at.cache_read ?? '0.1'),
    part(usage.cacheWrite5m, at.input, at.cache_write ?? '1.25'),
    part(usage.cacheWrite1h, at.input, at.cache_write_1h ?? '2'),
    times([BigInt(usage.serverToolUses) * 10n ** 12n, 1n], decimal(model.server_tool_use ?? '0')),
  ].reduce(plus)
}

const price = fc.nat(99_999).map((hundredths) => (hundredths / 100).toFixed(2))
const multiplier = fc.option(
  fc.nat(300).map((hundredths) => (hundredths / 100).toFixed(2)),
  { nil: undefined },
)
const priced = fc
  .record({ input: price, output: price, cache_read: multiplier, cache_write: multiplier })
  .map((entry) => Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined)) as { input: string; output: string })
const catalogue: fc.Arbitrary<readonly ModelEntry[]> = fc
  .array(
    fc.record({
      prices: priced,
      server_tool_use: price,
      levels: fc.uniqueArray(fc.record({ above_prompt_tokens: fc.integer({ min: 1, max: 3_000 }), prices: priced }), {
        maxLength: 3,
        selector: ({ above_prompt_tokens }) => above_prompt_tokens,
      }),
    }),
    { maxLength: 3 },
  )
  .map((models) =>
    models.map(({ prices, server_tool_use, levels }, index) => ({
      id: `model-${index}`,
      ...prices,
      server_tool_use,
      ...(levels.length === 0
        ? {}
        : {
            levels: levels
              .sort((a, b) => a.above_prompt_tokens - b.above_prompt_tokens)
              .map(({ above_prompt_tokens, prices: at }) => ({ above_prompt_tokens, ...at })),
          }),
      context_window: 10_000,
      max_output_tokens: 1_000,
    })),
  )
const count = fc.nat(1_500)
const receipt = fc.record({
  account: fc.nat(3),
  model: fc.nat(3),
  outcome: fc.constantFrom(...OUTCOMES),
  paid: fc.bigInt(0n, 10n ** 15n),
  usage: fc.record({
    input: count,
    output: count,
    cacheRead: count,
    cacheWrite5m: count,
    cacheWrite1h: count,
    serverToolUses: fc.nat(9),
  }),
})
const WAIVED: ReadonlySet<Outcome> = new Set(['fault', 'drain', 'recovered'])
const promptOf = ({ input, cacheRead, cacheWrite5m, cacheWrite1h }: Usage): number => input + cacheRead + cacheWrite5m + cacheWrite1h

test('fractions over the price list agree with each sum, and sums over accounts and models with the total', () => {
  fc.assert(
    fc.property(catalogue, fc.array(receipt, { maxLength: 40 }), (entries, receipts) => {
      const prices = new Map(entries.map((entry) => [entry.id, pricesOf(entry, entry.id, [])]))
      const sums = new RepricedSums()
      const expected = { charged: [0, 0n, [0n, 1n] as Fraction], waived: [0, 0n, [0n, 1n] as Fraction], missing: [0, 0n] } as {
        charged: [number, bigint, Fraction]
        waived: [number, bigint, Fraction]
        missing: [number, bigint]
      }
      for (const { account, model, outcome, paid, usage } of receipts) {
        const [modelId, accountId] = [`model-${model}`, `acc_${account}`]
        const isWaived = WAIVED.has(outcome)
        const past: PastReceipt = {
          outcome,
          usage,
          promptTokens: promptOf(usage),
          costPicos: isWaived ? ZERO : picos(paid),
          waivedPicos: isWaived ? picos(paid) : ZERO,
        }
        sums.add([{ accountId, accountName: '', modelId, ...repriced(past, prices.get(modelId)) }])
        const entry = entries[model]
        if (entry === undefined) {
          expected.missing[0]++
          expected.missing[1] += past.costPicos
        } else {
          const part = expected[isWaived ? 'waived' : 'charged']
          part[0]++
          part[1] += paid
          part[2] = plus(part[2], oracle(entry, usage, promptOf(usage)))
        }
      }
      const { charged, waived, missing } = sums.total
      for (const [told, [receiptsOf, now, [numerator, denominator]]] of [
        [charged, expected.charged],
        [waived, expected.waived],
      ] as const) {
        expect([told.receipts, told.nowPicos, told.thenPicos * denominator] as unknown).toEqual([receiptsOf, now, numerator])
      }
      expect([missing.receipts, missing.nowPicos] as unknown).toEqual(expected.missing)
      expect(sums.models().reduce(addRepriced, NOTHING_REPRICED)).toMatchObject(sums.total as object)
      expect(sums.accounts().reduce(addRepriced, NOTHING_REPRICED)).toMatchObject(sums.total as object)
    }),
  )
})

test('accounts come with the largest difference first, whichever its direction', () => {
  const sums = new RepricedSums()
  const row = (accountId: string, thenPicos: bigint) => ({
    ...NOTHING_REPRICED,
    charged: { receipts: 1, nowPicos: picos(100n), thenPicos: picos(thenPicos) },
    accountId,
    accountName: '',
    modelId: 'm',
  })
  sums.add([row('acc_same', 100n), row('acc_dearer', 103n), row('acc_cheaper', 95n), row('acc_also', 105n)])
  expect(sums.accounts().map((account) => [account.accountId, differenceOf(account)] as const)).toEqual([
    ['acc_also', picos(5n)],
    ['acc_cheaper', picos(-5n)],
    ['acc_dearer', picos(3n)],
    ['acc_same', ZERO],
  ])
})

test('what cost nothing is charged or waived by how it ended', () => {
  const nothing = { promptTokens: 0, usage: { input: 0, output: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0, serverToolUses: 0 } }
  const prices = pricesOf({ input: '1', output: '1', context_window: 9, max_output_tokens: 9 }, 'm', [])
  for (const outcome of OUTCOMES) {
    const { charged, waived } = repriced({ ...nothing, outcome, costPicos: ZERO, waivedPicos: ZERO }, prices)
    expect([outcome, charged.receipts, waived.receipts]).toEqual([outcome, ...(WAIVED.has(outcome) ? [0, 1] : [1, 0])])
  }
  const odd = repriced({ ...nothing, outcome: 'complete', costPicos: ZERO, waivedPicos: picos(5n) }, prices)
  expect(odd.waived, 'what was waived is waived, however it ended').toMatchObject({ receipts: 1, nowPicos: 5n } as object)
})
