/** Bytes of a stream that have no room in its answer, until the other relay has them. Rules: requests.md "Joined answers". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { PassedBytes } from '../../src/relay/passed-bytes.ts'

const MAX = 20_000

test('what was passed and is not forgotten is read as it was, at any place and in any pieces, and never more than fits is kept', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('add' as const), size: fc.oneof(fc.nat(200), fc.nat(MAX + 1)) }),
    fc.record({ kind: fc.constant('forget' as const), at: fc.nat(2 * MAX) }),
    fc.record({ kind: fc.constant('read' as const), at: fc.nat(2 * MAX), size: fc.nat(MAX) }),
  )
  fc.assert(
    fc.property(fc.nat(1_000), fc.array(step, { maxLength: 40 }), (from, steps) => {
      const passed = new PassedBytes(from, MAX)
      let next = 0
      // What is kept, and where in the stream it begins.
      let [kept, begins]: [number[], number] = [[], from]
      // One before the first that is kept, to one behind the last.
      const placeOf = (at: number): number => begins - 1 + (at % (kept.length + 3))
      for (const one of steps) {
        if (one.kind === 'add') {
          const bytes = Uint8Array.from({ length: one.size }, () => next++ % 251)
          const fits = kept.length + bytes.length <= MAX
          expect(passed.add(bytes)).toBe(fits)
          // The giver uses its memory again.
          if (fits) kept.push(...bytes)
          bytes.fill(255)
        } else if (one.kind === 'forget') {
          const at = placeOf(one.at)
          const gone = Math.max(0, Math.min(kept.length, at - begins))
          kept = kept.slice(gone)
          begins += gone
          passed.forget(at)
        } else {
          const at = placeOf(one.at)
          const first = at - begins
          const wanted = first < 0 ? [] : kept.slice(first, first + one.size)
          const isThere = first >= 0 && first < kept.length
          expect(passed.read(at, one.size)).toEqual(isThere ? Uint8Array.from(wanted) : undefined)
        }
        expect(passed.end).toBe(begins + kept.length)
      }
    }),
  )
})

test('what was read stays as it was when more is passed and forgotten', () => {
  const passed = new PassedBytes(0, MAX)
  passed.add(Buffer.from('one two'))
  const read = passed.read(0, 3)
  passed.forget(4)
  passed.add(Buffer.from('three'))
  expect(Buffer.from(read ?? []).toString()).toBe('one')
  expect(Buffer.from(passed.read(4, 100) ?? []).toString()).toBe('twothree')
})
