/** Amounts of other gateways lose nothing but what is smaller than a picodollar, and that is told: rounding is downwards, for debts, too. Rules: operator.md "Import". */

import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { leftOf, worthOf } from '../../../src/core/import/amount.ts'
import { picos } from '../../../src/core/money.ts'

/** The decimal that a double is written as, times 10^400. */
function scaled(value: number): bigint {
  const [mantissa = '', exponent = '0'] = String(value).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return BigInt(whole + fraction) * 10n ** BigInt(400 - fraction.length + Number(exponent))
}

const PICO = 10n ** 388n

describe('leftOf', () => {
  test('is the exact difference of both decimals, rounded down, and says whether anything was left out', () => {
    const amount = fc.double({ min: -1e9, max: 1e9, noNaN: true })
    fc.assert(
      fc.property(amount, amount, (budget, spent) => {
        const exact = scaled(budget) - scaled(spent)
        const left = leftOf(budget, spent)
        const rest = exact - left.picos * PICO
        expect(rest >= 0n && rest < PICO).toBeTrue()
        expect(left.rest === '').toBe(rest === 0n)
      }),
    )
  })

  test('names the rest in dollars', () => {
    expect(leftOf(25, 0.3)).toEqual({ picos: picos(24_700_000_000_000n), rest: '' })
    expect(leftOf(1e-7, 0)).toEqual({ picos: picos(100_000n), rest: '' })
    expect(leftOf(0.1, 0.0333333333333333)).toEqual({ picos: picos(66_666_666_666n), rest: '0.0000000000006667 USD' })
    expect(leftOf(0, 1e-13)).toEqual({ picos: picos(-1n), rest: '0.0000000000009 USD' })
  })
})

test('a quota is worth whole picodollars, rounded down, whatever a dollar is there', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }), fc.bigInt({ min: 1n, max: 10n ** 9n }), (units, perUsd) => {
      const worth = worthOf(units, perUsd)
      const rest = units * 10n ** 12n - worth.picos * perUsd
      expect(rest >= 0n && rest < perUsd).toBeTrue()
      expect(worth.rest === '').toBe(rest === 0n)
    }),
  )
  expect(worthOf(250_001n, 500_000n)).toEqual({ picos: picos(500_002_000_000n), rest: '' })
})
