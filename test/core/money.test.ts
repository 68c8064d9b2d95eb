/** Amounts are exact from the text of a person to the text that is shown. Rules: money.md "Unit". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { maxPicos, minPicos, parseUsd, picos, sumPicos, toExactUsdText, toUsd, toUsdText, ZERO } from '../../src/core/money.ts'

const amount = fc.bigInt(-(10n ** 20n), 10n ** 20n).map(picos)

test('exact text and back is the same amount, for every amount that can be written', () => {
  fc.assert(
    fc.property(fc.bigInt(-(10n ** 20n), 10n ** 20n).map(picos), (value) => {
      const text = toExactUsdText(value)
      expect(text).toMatch(/^-?\d+(\.\d*[1-9])?$/)
      if (/^-?\d{1,9}(\.|$)/.test(text)) expect(parseUsd(text)).toBe(value)
    }),
  )
})

test('shown dollars are the nearest millionth, ties to even: checked with whole numbers only', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        amount,
        fc.bigInt(-1000n, 1000n).map((half) => picos(half * 500_000n)),
      ),
      (value) => {
        const text = toUsdText(value)
        expect(text).toMatch(/^-?\d+\.\d{6}$/)
        const micros = BigInt(text.replace('.', ''))
        const distance = value - micros * 1_000_000n
        const off = distance < 0n ? -distance : distance
        expect(off <= 500_000n).toBe(true)
        if (off === 500_000n) expect(micros % 2n).toBe(0n)
        expect(toUsd(value)).toBe(Number(text))
      },
    ),
  )
})

test('rounding never shows a negative zero', () => {
  expect(toUsdText(picos(-1n))).toBe('0.000000')
  expect(toUsdText(picos(-500_000n))).toBe('0.000000')
  expect(toUsdText(picos(-1_500_000n))).toBe('-0.000002')
  expect(Object.is(toUsd(picos(-1n)), 0)).toBe(true)
  expect(toExactUsdText(ZERO)).toBe('0')
})

test('dollars are read as people write them, and nothing else is', () => {
  const good: [string, bigint][] = [
    ['25', 25_000_000_000_000n],
    ['0.10', 100_000_000_000n],
    ['-3.5', -3_500_000_000_000n],
    ['0.000000000001', 1n],
    ['999999999.999999999999', 999_999_999_999_999_999_999n],
    ['-0', 0n],
  ]
  for (const [text, value] of good) expect(parseUsd(text)).toBe(picos(value))
  for (const text of [
    '',
    '.',
    '1.',
    '.5',
    '+1',
    '1e3',
    '0x10',
    '1,000',
    ' 1',
    '1 ',
    '1\n',
    '$1',
    '0.0000000000001',
    '1234567890',
    'NaN',
    '١',
  ])
    expect(parseUsd(text), text).toBeUndefined()
})

test('sum, least and greatest', () => {
  fc.assert(
    fc.property(amount, amount, (a, b) => {
      expect(sumPicos(a, b)).toBe(picos(a + b))
      expect(sumPicos(minPicos(a, b), maxPicos(a, b))).toBe(picos(a + b))
      expect(minPicos(a, b) <= maxPicos(a, b)).toBe(true)
    }),
  )
  expect(sumPicos()).toBe(ZERO)
})
