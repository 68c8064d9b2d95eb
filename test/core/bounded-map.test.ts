/** The bounded map: what stays, what goes, and what is told. */

import { expect, test } from 'bun:test'
import { boundedMap } from '../../src/core/bounded-map.ts'

test('the entry goes that was used least recently, and each that goes is told once', () => {
  const gone: string[] = []
  const map = boundedMap<number>(2, (value, key) => void gone.push(`${key}${value}`))
  map.set('a', 1)
  map.set('b', 2)
  expect(map.get('a')).toBe(1)
  map.set('c', 3)
  expect([map.get('a'), map.get('b'), map.get('c'), map.size]).toEqual([1, undefined, 3, 2])
  map.set('c', 4)
  map.delete('a')
  map.delete('a')
  expect(gone).toEqual(['b2', 'c3', 'a1'])
})
