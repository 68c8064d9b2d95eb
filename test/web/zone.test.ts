/** Days and moments of a filter as the address has them, which anybody may have written. Rules: pages.md "Zones". */

import { afterEach, expect, test } from 'bun:test'
import { dayOf, isUtc, withMoments } from '../../src/web/parts/zone.ts'

const before = isUtc.value
afterEach(() => {
  isUtc.value = before
})

test('a day is asked for by its moments, and shown as the day again', () => {
  isUtc.value = true
  const asked = withMoments({ from: '2027-02-28', to: '2027-02-28' })
  expect(asked).toEqual({ from: '2027-02-28T00:00:00.000Z', to: '2027-03-01T00:00:00.000Z' })
  expect([dayOf(asked.from ?? '', 'start'), dayOf(asked.to ?? '', 'end')]).toEqual(['2027-02-28', '2027-02-28'])
})

test.each(['abcdefghij', '2027-99-99', 'no moment at all', '2027-02-28T99:99', ''])(
  '%p is no moment: the gateway says so, and the page stands',
  (text) => {
    for (const utc of [true, false]) {
      isUtc.value = utc
      expect(withMoments({ from: text, to: text })).toEqual({ from: text, to: text })
      for (const edge of ['start', 'end'] as const) expect(dayOf(text, edge)).toBe('')
    }
  },
)
