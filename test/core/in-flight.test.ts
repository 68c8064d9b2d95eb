/** It does what a map does, and what has gone through it does not wait for a collection of everything. */

import { edenGC, fullGC, heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { InFlight } from '../../src/core/in-flight.ts'
import { runs } from '../support/property-runs.ts'

test('it does as a map does, whatever comes, is replaced and goes, also while it is walked', () => {
  const step = fc.tuple(fc.constantFrom('set', 'take', 'clear', 'walk'), fc.integer({ min: 0, max: 12 }), fc.integer({ min: 0, max: 99 }))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const [it, model] = [new InFlight<number, number>(), new Map<number, number>()]
      for (const [what, key, value] of steps) {
        if (what === 'set') {
          it.set(key, value)
          model.set(key, value)
        } else if (what === 'take') {
          expect(it.take(key)).toBe(model.get(key))
          model.delete(key)
        } else if (what === 'clear' && value < 10) {
          it.clear()
          model.clear()
        } else if (what === 'walk') {
          const walked: number[] = []
          for (const [at] of it.entries()) {
            walked.push(at)
            it.delete(at + key)
          }
          const expected: number[] = []
          for (const [at] of model) {
            expected.push(at)
            model.delete(at + key)
          }
          expect(walked).toEqual(expected)
        }
        expect([it.size, it.has(key), it.get(key)]).toEqual([model.size, model.has(key), model.get(key)])
        expect([...it.values()]).toEqual([...model.values()])
        expect([...it.entries()]).toEqual([...model])
      }
    }),
    { numRuns: runs(200) },
  )
})

test('what has gone is collected with the young objects, although there is always something in flight', () => {
  const dates = (): number => heapStats().objectTypeCounts['Date'] ?? 0
  const it = new InFlight<number, Date>()
  fullGC()
  const before = dates()
  const count = 10_000
  for (let number = 0; number < count; number++) {
    it.set(number, new Date(number))
    it.take(number - 10)
    if (number % 500 === 499) edenGC()
  }
  edenGC()
  expect(it.size).toBe(10)
  // With a map and no cells it is nearly every second one.
  expect(dates() - before).toBeLessThan(count / 10)
})
