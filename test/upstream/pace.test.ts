/** An upstream that answers far later than it used to loses share before it breaks. Rules: pool.md "Choice". */

import { expect, test } from 'bun:test'
import { Pace } from '../../src/upstream/pace.ts'

function paceAfter(...runs: readonly (readonly [times: number, ms: number])[]): Pace {
  const pace = new Pace()
  for (const [times, ms] of runs) for (let time = 0; time < times; time++) pace.began(ms)
  return pace
}

test('its share falls in two steps as it becomes slow, and comes back when it recovers', () => {
  expect(paceAfter([200, 400]).share()).toBe(1)
  expect(paceAfter([200, 400], [10, 3_000]).share()).toBe(0.5)
  expect(paceAfter([200, 400], [10, 9_000]).share()).toBe(0.25)
  expect(paceAfter([200, 400], [10, 9_000], [30, 400]).share()).toBe(1)
})

test('one slow answer, small differences and a few first answers change nothing', () => {
  expect(paceAfter([200, 400], [1, 3_000]).share()).toBe(1)
  // Thirty times its norm, and a quarter of a second that nobody minds.
  for (const slow of [1, 10, 50]) expect(paceAfter([200, 10], [slow, 300]).share()).toBe(1)
  expect(paceAfter([5, 10], [5, 60_000]).share()).toBe(1)
})

test('what is slow for long is its norm', () => {
  expect(paceAfter([200, 400], [2_000, 3_000]).share()).toBe(1)
})

test('the first of its answers alone, such as that of a cold start, is not its norm', () => {
  expect(paceAfter([1, 20_000], [200, 400], [10, 5_000]).share()).toBe(0.5)
})
