/** A chart is read by its colours: no two of its series have the same. Rules: pages.md "Spend". */

import { expect, test } from 'bun:test'
import { coloursOf } from '../../src/web/parts/colours.ts'

const NAMES = ['rate limited', 'insufficient balance', 'key invalid', 'upstream busy', 'overloaded', 'too large']

test('no two names have one colour, and none has that of what is drawn beside them', () => {
  const [first = ''] = coloursOf(NAMES.slice(0, 1)).values()
  for (const taken of [undefined, first, '#0f9673', '#7d9a34']) {
    const colours = coloursOf(NAMES, taken)
    expect([colours.size, new Set(colours.values()).size]).toEqual([NAMES.length, NAMES.length])
    expect([...colours.values()]).not.toContain(taken)
  }
})

test('a name keeps its colour beside another', () => {
  expect(coloursOf(['opus', 'haiku']).get('haiku')).toBe(coloursOf(['haiku']).get('haiku'))
})
