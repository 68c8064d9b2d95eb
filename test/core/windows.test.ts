/** Protects money.md "Budgets": windows are those of the UTC calendar, with ISO weeks, and each hour lies in exactly one of each length. */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { HOUR_MS, hourAt, PERS, timeWithin, windowAt } from '../../src/core/windows.ts'

const at = (text: string): number => hourAt(Date.parse(text))
const shown = (hour: number): string => new Date(hour * HOUR_MS).toISOString().slice(0, 16)

test.each([
  ['hour', '2026-11-27T01:30:00Z', '2026-11-27T01:00', '2026-11-27T02:00'],
  ['day', '2026-11-27T23:59:59.999Z', '2026-11-27T00:00', '2026-11-28T00:00'],
  ['week', '2026-11-29T23:59:59Z', '2026-11-23T00:00', '2026-11-30T00:00'],
  ['week', '2026-11-30T00:00:00Z', '2026-11-30T00:00', '2026-12-07T00:00'],
  ['week', '2027-01-01T12:00:00Z', '2026-12-28T00:00', '2027-01-04T00:00'],
  ['month', '2028-02-29T12:00:00Z', '2028-02-01T00:00', '2028-03-01T00:00'],
  ['month', '2027-02-28T23:00:00Z', '2027-02-01T00:00', '2027-03-01T00:00'],
  ['month', '2026-12-31T23:59:59Z', '2026-12-01T00:00', '2027-01-01T00:00'],
] as const)('a %s at %s is from %s to %s', (per, time, start, end) => {
  const window = windowAt(per, at(time))
  expect([shown(window.start), shown(window.end)]).toEqual([start, end])
})

test('windows of a length follow each other without a gap, and are what the calendar of another implementation says', () => {
  fc.assert(
    fc.property(fc.constantFrom(...PERS), fc.integer({ min: 0, max: 1_000_000 }), (per, hour) => {
      const { start, end } = windowAt(per, hour)
      expect(start <= hour && hour < end).toBe(true)
      expect(windowAt(per, end - 1)).toEqual({ start, end })
      expect(windowAt(per, end).start).toBe(end)
      const first = new Date(start * HOUR_MS)
      if (per !== 'hour') expect(first.getUTCHours()).toBe(0)
      if (per === 'week') expect([first.getUTCDay(), end - start]).toEqual([1, 168])
      if (per === 'month') expect([first.getUTCDate(), new Date(end * HOUR_MS).getUTCDate()]).toEqual([1, 1])
    }),
  )
})

test('a moment is taken into an hour by its nearest end, and stays where it lies in it', () => {
  expect([timeWithin(2, 0), timeWithin(2, 2 * HOUR_MS + 5), timeWithin(2, 9 * HOUR_MS)]).toEqual([
    2 * HOUR_MS,
    2 * HOUR_MS + 5,
    3 * HOUR_MS - 1,
  ])
})
