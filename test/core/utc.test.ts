/** A day or a time is read as it is written, or not at all. Rules: operator.md "Lists"; requests.md "Usage". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { DAY_MS, dayAt, dayOf, dayText, edgeOf } from '../../src/core/utc.ts'

test('a day is written as it was read, and holds each of its moments', () => {
  fc.assert(
    fc.property(fc.integer({ min: -100_000, max: 2_000_000 }), fc.integer({ min: 0, max: DAY_MS - 1 }), (day, moment) => {
      expect(dayOf(dayText(day))).toBe(day)
      expect(dayAt(day * DAY_MS + moment)).toBe(day)
    }),
  )
})

test('a day that no calendar has, and a time without its zone, are none', () => {
  for (const text of ['2026-02-31', '2026-02-29', '2026-13-01', '2026-11-31', '2026-1-1', '2026-11-3', 'today', ''])
    for (const read of [dayOf(text), edgeOf(text, 'start'), edgeOf(text, 'end'), edgeOf(`${text}T10:00:00Z`, 'start')])
      expect(read).toBeUndefined()
  for (const text of ['2026-11-30T12:00', '2026-11-30 12:00Z', '2026-11-30T25:00:00Z', '2026-11-30T12:00:00Z '])
    expect(edgeOf(text, 'start')).toBeUndefined()
})

test('as an edge of a span a day counts whole, a time is itself', () => {
  const noon = Date.UTC(2028, 1, 29, 12)
  expect([edgeOf('2028-02-29', 'start'), edgeOf('2028-02-29', 'end')]).toEqual([noon - DAY_MS / 2, noon + DAY_MS / 2])
  for (const text of ['2028-02-29T12:00Z', '2028-02-29T12:00:00Z', '2028-02-29T12:00:00.000Z', '2028-02-29T14:30:00+02:30'])
    expect([edgeOf(text, 'start'), edgeOf(text, 'end')]).toEqual([noon, noon])
})
