/** How long a balance lasts. Rules: money.md "Runway". */

import { expect, test } from 'bun:test'
import { type Picos, picos, ZERO } from '../../src/core/money.ts'
import { runwayOf } from '../../src/core/runway.ts'

const amounts = (...values: readonly number[]): readonly Picos[] => values.map((value) => picos(BigInt(value)))

test('the pace is the mean from the first day on that cost something, or today where that is more', () => {
  expect(runwayOf(picos(100n), amounts(7, 7, 7, 7, 7, 7, 7), ZERO)).toEqual({ days: 14, aDayPicos: picos(7n) })
  expect(runwayOf(picos(100n), amounts(0, 20, 0, 0, 0, 0, 0), ZERO)).toEqual({ days: 10, aDayPicos: picos(10n) })
  expect(runwayOf(picos(100n), amounts(10, 0, 0, 0, 0, 0, 0), picos(50n))).toEqual({ days: 2, aDayPicos: picos(50n) })
  expect(runwayOf(picos(100n), amounts(0, 0, 0, 0, 0, 0, 14), ZERO)).toEqual({ days: 50, aDayPicos: picos(2n) })
  expect(runwayOf(picos(99n), amounts(0, 0), picos(100n))).toEqual({ days: 0, aDayPicos: picos(100n) })
})

test('a balance that is used up lasts 0 days, and where nothing was spent there is no end', () => {
  expect(runwayOf(picos(-5n), amounts(1, 0), ZERO).days).toBe(0)
  expect(runwayOf(ZERO, amounts(1), ZERO).days).toBe(0)
  expect(runwayOf(picos(5n), amounts(0, 0), ZERO)).toEqual({ days: null, aDayPicos: ZERO })
})
