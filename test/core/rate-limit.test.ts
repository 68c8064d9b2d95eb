/** A rate is never passed and never refuses more than it must, whatever the clock does. Rules: keys.md "Rate limits". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { type RateRule, step } from '../../src/core/rate-limit.ts'

const START = 1_800_000_000_000
const rules = fc.record({ perMinute: fc.integer({ min: 1, max: 6_000 }), burst: fc.integer({ min: 1, max: 600 }) })

/** How many of the requests at these moments are let through, and the state after them. */
function run(rule: RateRule, moments: readonly number[]): { allowed: number; tat: number | undefined } {
  let tat: number | undefined
  let allowed = 0
  for (const now of moments) {
    const stepped = step(tat, now, rule)
    tat = stepped.tat
    if (stepped.isAllowed) allowed++
  }
  return { allowed, tat }
}

test('step() lets exactly the burst through at once, then one an interval, at the very millisecond', () => {
  const rule = { perMinute: 60, burst: 3 }
  expect(run(rule, [START, START, START, START, START]).allowed).toBe(3)
  const { tat } = run(rule, [START, START, START])
  expect(step(tat, START + 999, rule)).toMatchObject({ isAllowed: false, retryAfterSeconds: 1 })
  expect(step(tat, START + 1_000, rule)).toMatchObject({ isAllowed: true, retryAfterSeconds: 0 })
})

test('step() never lets more through than burst + rate × time, however the requests are spread', () => {
  fc.assert(
    fc.property(rules, fc.array(fc.nat(5_000), { maxLength: 300 }), (rule, gaps) => {
      let now = START
      const moments = gaps.map((gap) => (now += gap))
      const elapsedMs = now - START
      expect(run(rule, moments).allowed).toBeLessThanOrEqual(rule.burst + (elapsedMs * rule.perMinute) / 60_000 + 0.01)
    }),
  )
})

test('step() lets a client through that honours its Retry-After, and the wait is never longer than it must be by a second', () => {
  fc.assert(
    fc.property(rules, fc.nat(2_000), (rule, extra) => {
      const { tat } = run(
        rule,
        Array.from({ length: rule.burst + (extra % 3) }, () => START),
      )
      const refused = step(tat, START, rule)
      expect(refused.isAllowed).toBe(false)
      expect(Number.isInteger(refused.retryAfterSeconds)).toBe(true)
      expect(step(refused.tat, START + refused.retryAfterSeconds * 1000, rule).isAllowed).toBe(true)
      expect(refused.retryAfterSeconds).toBeLessThanOrEqual(60 / rule.perMinute + 1)
    }),
  )
})

test('step() refuses without counting: the state after a refusal is the state before it', () => {
  const rule = { perMinute: 30, burst: 2 }
  const { tat } = run(rule, [START, START])
  expect(step(tat, START + 5, rule).tat).toBe(tat as number)
})

test('step() is monotone: who came earlier with the same state is never better off', () => {
  fc.assert(
    fc.property(rules, fc.nat(100_000), fc.nat(100_000), fc.nat(100_000), (rule, ahead, sooner, later) => {
      const tat = START + Math.min(ahead, (rule.burst * 60_000) / rule.perMinute)
      const early = step(tat, START + sooner, rule)
      const late = step(tat, START + sooner + later, rule)
      expect(Number(late.isAllowed)).toBeGreaterThanOrEqual(Number(early.isAllowed))
      expect(late.tat).toBeGreaterThanOrEqual(early.tat - 60_000 / rule.perMinute)
    }),
  )
})

test('a clock that jumps back locks nobody out for longer than one interval, one that jumps ahead gives no more than a burst', () => {
  const rule = { perMinute: 60, burst: 5 }
  const { tat } = run(rule, [START, START, START])
  const back = START - 2 * 3_600_000
  expect(step(tat, back, rule)).toMatchObject({ isAllowed: false, retryAfterSeconds: 1 })
  expect(step(step(tat, back, rule).tat, back + 1_000, rule).isAllowed).toBe(true)
  const ahead = START + 90 * 86_400_000
  let state = tat
  let allowed = 0
  for (let i = 0; i < 20; i++) {
    const stepped = step(state, ahead, rule)
    state = stepped.tat
    if (stepped.isAllowed) allowed++
  }
  expect(allowed).toBe(5)
})
