/** Steps of Explore are hours, days, weeks from Monday and months of UTC, as the calendar has them, each hour in one. Rules: pages.md "Explore". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { STEPS, stepAt, stepsBetween, stepText } from '../../src/core/explore.ts'
import { runs } from '../support/property-runs.ts'

const HOUR_MS = 3_600_000
/** Of the first weeks of 1970 until 2060. */
const hour = fc.integer({ min: 200, max: 788_000 })

test('a step begins where the calendar says, not after its hour, and the next hour of its length is in another', () => {
  fc.assert(
    fc.property(hour, (at) => {
      const starts = STEPS.map((step) => stepAt(at, step))
      const [ofHour = -1, ofDay = -1, ofWeek = -1, ofMonth = -1] = starts
      const dates = starts.map((start) => new Date(start * HOUR_MS))
      const now = new Date(at * HOUR_MS)
      expect(ofHour).toBe(at)
      expect([ofDay % 24, Math.floor(at / 24) - ofDay / 24]).toEqual([0, 0])
      expect([ofWeek % 24, dates[2]?.getUTCDay(), at - ofWeek < 7 * 24 && ofWeek <= at]).toEqual([0, 1, true])
      expect([ofMonth % 24, dates[3]?.getUTCDate(), dates[3]?.getUTCMonth(), dates[3]?.getUTCFullYear()]).toEqual([
        0,
        1,
        now.getUTCMonth(),
        now.getUTCFullYear(),
      ])
    }),
    { numRuns: runs(200) },
  )
})

test('the steps of a span are those of its hours, each once and in order', () => {
  fc.assert(
    fc.property(hour, fc.integer({ min: 0, max: 3_000 }), fc.constantFrom(...STEPS), (from, length, step) => {
      const hours = Array.from({ length: length + 1 }, (_, n) => from + n)
      expect(stepsBetween(from, from + length, step)).toEqual([...new Set(hours.map((one) => stepAt(one, step)))])
    }),
    { numRuns: runs(50) },
  )
})

test('a step is named by its first day, an hour by itself', () => {
  const at = Date.parse('2026-11-27T10:00:00Z') / HOUR_MS
  expect(STEPS.map((step) => stepText(stepAt(at, step), step))).toEqual(['2026-11-27T10:00Z', '2026-11-27', '2026-11-23', '2026-11-01'])
})
