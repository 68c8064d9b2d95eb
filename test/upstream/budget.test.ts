/** Second tries stay a tenth of the requests and three a second, however they are spread. Rules: pool.md "Retry budget". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { RetryBudget } from '../../src/upstream/budget.ts'

test('no history takes more than three, three a second and a tenth of the requests', () => {
  const step = fc.record({ gapMs: fc.nat(3_000), requests: fc.nat(40), wishes: fc.nat(40) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const budget = new RetryBudget(0)
      let [now, requests, taken] = [0, 0, 0]
      for (const { gapMs, requests: arrived, wishes } of steps) {
        now += gapMs
        for (let index = 0; index < arrived; index++) budget.earn(now)
        requests += arrived
        for (let index = 0; index < wishes; index++) taken += budget.take(now) ? 1 : 0
        expect(taken).toBeLessThanOrEqual(3 + (now / 1_000) * 3 + requests * 0.1 + 1e-6)
      }
    }),
  )
})

test('a steady tenth is always allowed, and so are three a second with no other traffic', () => {
  const busy = new RetryBudget(0)
  let refused = 0
  for (let request = 0; request < 5_000; request++) {
    busy.earn(request)
    if (request % 10 === 9 && !busy.take(request)) refused++
  }
  expect(refused).toBe(0)
  const quiet = new RetryBudget(0)
  for (let second = 1; second < 100; second++) {
    expect([quiet.take(second * 1_000), quiet.take(second * 1_000), quiet.take(second * 1_000)]).toEqual([true, true, true])
    expect(quiet.take(second * 1_000)).toBe(false)
  }
})

test('a quiet time after much traffic is no leave for a storm, and a clock that jumps back adds nothing', () => {
  const budget = new RetryBudget(0)
  for (let request = 0; request < 10_000; request++) budget.earn(0)
  let taken = 0
  while (budget.take(60_000)) taken++
  expect(taken).toBe(3)
  expect(budget.take(0)).toBe(false)
  expect(budget.take(60_000)).toBe(false)
})
