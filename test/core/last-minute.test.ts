/** What happened in the last sixty seconds is counted, and nothing that is older; times are found within five percent. Rules: pages.md "Now". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { LastMinute, RecentTimes, spreadOf } from '../../src/core/last-minute.ts'

test('the sums are those of the second that runs and the 59 before it, whenever they are looked at', () => {
  const event = fc.record({ waitMs: fc.integer({ min: 0, max: 30_000 }), column: fc.integer({ min: 0, max: 2 }) })
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), fc.integer({ min: 0, max: 90_000 }), (events, laterMs) => {
      const minute = new LastMinute(3)
      let now = 0
      const happened = events.map(({ waitMs, column }) => {
        now += waitMs
        minute.add(column, now, column + 1)
        return { column, second: Math.floor(now / 1_000) }
      })
      const looked = Math.floor((now + laterMs) / 1_000)
      const sum = (column: number): number =>
        happened.filter((one) => one.column === column && one.second > looked - 60).length * (column + 1)
      expect(minute.sums(now + laterMs)).toEqual([sum(0), sum(1), sum(2)])
    }),
  )
})

test('the last whole second is told apart', () => {
  const minute = new LastMinute(2)
  minute.add(1, 5_100, 3)
  expect([5_900, 6_000, 6_999, 7_000, 65_100].map((now) => minute.ofSecondBefore(1, now))).toEqual([0, 3, 3, 0, 0])
})

test('the middle and the slowest hundredth of the times are found within five percent', () => {
  const time = fc.double({ min: 0.1, max: 600_000, noNaN: true })
  fc.assert(
    fc.property(fc.array(time, { minLength: 1, maxLength: 300 }), (times) => {
      const recent = new RecentTimes()
      for (const ms of times) recent.add(ms, 0)
      const sorted = times.toSorted((a, b) => a - b)
      const { count, p50Ms, p99Ms } = spreadOf(recent.bins(59_999))
      const exact = [0.5, 0.99].map((share) => sorted[Math.ceil(times.length * share) - 1] ?? 0)
      expect(count).toBe(times.length)
      for (const [index, found] of [p50Ms, p99Ms].entries()) expect(Math.abs((found ?? 0) / (exact[index] ?? 1) - 1)).toBeLessThan(0.05)
    }),
  )
})

test('of a minute without any there is no time, and what is beyond all bins counts as the nearest', () => {
  const recent = new RecentTimes()
  expect(spreadOf(recent.bins(0))).toEqual({ count: 0, p50Ms: null, p99Ms: null })
  for (const ms of [0, 1e9]) recent.add(ms, 0)
  expect(spreadOf(recent.bins(0))).toMatchObject({ count: 2, p50Ms: expect.any(Number), p99Ms: expect.any(Number) })
  expect(spreadOf(recent.bins(60_000))).toEqual({ count: 0, p50Ms: null, p99Ms: null })
})
