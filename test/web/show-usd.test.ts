/** Amounts in a column have one number of places, none of which is made up and none of which makes money into nothing. Rules: pages.md "Amounts". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { picos, toExactUsdText } from '../../src/core/money.ts'
import { compareUsd, placesOfAll, showPerMillion, showPrice, showUsd } from '../../src/web/parts/show-usd.ts'

test('a small amount keeps its first digits, and no amount is shown as nothing', () => {
  expect(
    ['0.0149', '0.149', '0.00105', '0.000105', '0.5', '12.3456789', '0', '-0.0149', '1234567.891'].map((exact) => showUsd(exact)),
  ).toEqual(['$0.0149', '$0.149', '$0.00105', '$0.000105', '$0.50', '$12.35', '$0.00', '−$0.0149', '$1,234,567.89'])
  expect(showUsd('0.0000004')).toBe('<$0.000001')
  expect(showUsd('0.0049', 2)).toBe('<$0.01')
})

test('a rate has its cents and every digit', () => {
  expect(['0.5', '3', '0.0375', '0.00000015'].map(showPrice)).toEqual(['$0.50', '$3.00', '$0.0375', '$0.00000015'])
  expect(showPerMillion('0.0000005')).toBe('$0.50')
})

const SIZES = [0, 3, 6, 9, 12, 15].map((digits) => 10 ** digits)
/** Amounts of every size: as many below a cent as above a thousand dollars. */
const AMOUNT = fc
  .tuple(fc.constantFrom(...SIZES), fc.integer({ min: 0, max: 999 }))
  .map(([size, digits]) => toExactUsdText(picos(BigInt(size) * BigInt(digits))))

test('every amount of a column has as many places as the others, and the amount with the smallest step sets them', () => {
  fc.assert(
    fc.property(fc.array(AMOUNT, { minLength: 1, maxLength: 12 }), (amounts) => {
      const places = placesOfAll(amounts)
      for (const exact of amounts) {
        const shown = showUsd(exact, places)
        expect(shown.split('.')[1]?.length).toBe(places)
        const isShownAsNothing = /^\$[0.]*$/.test(shown)
        expect([exact, isShownAsNothing]).toEqual([exact, Number(exact) === 0])
        if (!shown.startsWith('<'))
          expect(Math.abs(Number(shown.replaceAll(/[$,]/g, '')) - Number(exact))).toBeLessThanOrEqual(0.5 / 10 ** places + 1e-9)
      }
      expect(places).toBe(Math.max(...amounts.map((exact) => placesOfAll([exact]))))
    }),
  )
})

test('amounts are compared by all their digits', () => {
  fc.assert(fc.property(AMOUNT, AMOUNT, (a, b) => expect(compareUsd(a, b)).toBe(Math.sign(Number(a) - Number(b)))))
  expect(compareUsd('9007199254740.000000000001', '9007199254740.000000000002')).toBe(-1)
})
