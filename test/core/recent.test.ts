/** The bounded map: what stays, what goes, and who is told. */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { Recent } from '../../src/core/recent.ts'

const KEYS = ['a', 'b', 'c', 'd', 'e']
/** Seldom emptied, so that it is full most of the time. */
const KINDS = [...Array.from({ length: 8 }, () => ['get', 'set'] as const).flat(), 'delete', 'clear'] as const
const actions = fc.array(fc.record({ kind: fc.constantFrom(...KINDS), key: fc.constantFrom(...KEYS), value: fc.nat(9) }), { maxLength: 60 })

test('at any time it holds what was used last, and tells once of what is deleted or pushed out', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), actions, (max, done) => {
      const dropped: string[] = []
      const recent = new Recent<number>(max, (value, key) => dropped.push(`${key}${value}`))
      let entries: [string, number][] = []
      const expected: string[] = []
      for (const { kind, key, value } of done) {
        const found = entries.find(([name]) => name === key)
        const rest = entries.filter(([name]) => name !== key)
        if (kind === 'clear') {
          recent.clear()
          entries = []
        } else if (kind === 'delete') {
          recent.delete(key)
          entries = rest
          if (found !== undefined) expected.push(found.join(''))
        } else if (kind === 'set') {
          recent.set(key, value)
          entries = [...rest, [key, value]]
          const [oldest] = entries
          if (entries.length > max && oldest !== undefined) {
            entries = entries.slice(1)
            expected.push(oldest.join(''))
          }
        } else {
          expect(recent.get(key)).toBe(found?.[1] as number)
          if (found !== undefined) entries = [...rest, found]
        }
        expect(dropped).toEqual(expected)
      }
      const held = new Map(entries)
      for (const key of KEYS) expect(recent.get(key)).toBe(held.get(key) as number)
    }),
  )
})
