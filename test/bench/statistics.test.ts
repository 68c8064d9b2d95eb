/** Protects the benchmark's figures: quantiles by nearest rank, the middle of an even number, the spread of turns, and the order in which contestants take them. */

import { expect, test } from 'bun:test'
import { median, quantile, spread, turns } from '../../bench/statistics.ts'

test('a quantile is a value that was seen, by nearest rank', () => {
  const hundred = Float64Array.from({ length: 100 }, (_, index) => index + 1)
  expect([quantile(hundred, 0.5), quantile(hundred, 0.99), quantile(hundred, 1), quantile(hundred, 0)]).toEqual([50, 99, 100, 1])
  expect(quantile([1, 2, 3, 4, 5], 0.5)).toBe(3)
  expect(quantile([7], 0.99)).toBe(7)
  expect(quantile([], 0.5)).toBeNaN()
})

test('the median is the one in the middle, or the mean of two, whatever their order', () => {
  expect([median([3, 1, 2]), median([4, 1, 3, 2]), median([5])]).toEqual([2, 2.5, 5])
  expect(median([])).toBeNaN()
})

test('the spread is half the way from the lowest to the highest, in medians', () => {
  expect([spread([90, 100, 110]), spread([100]), spread([-90, -100, -110])]).toEqual([0.1, 0, 0.1])
})

test('contestants take turns there and back, so that what grows with time hits all alike', () => {
  expect(turns(['A', 'B'], 4).join('')).toBe('ABBAABBA')
  expect(turns(['A', 'B', 'C'], 2).join('')).toBe('ABCCBA')
})
