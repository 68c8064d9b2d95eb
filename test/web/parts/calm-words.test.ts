/** One is told as one, and nothing as nothing. Rules: pages.md "Tables", "Amounts". */

import { expect, test } from 'bun:test'
import { leftOutWords } from '../../../src/web/parts/left-out.ts'
import { showUsd } from '../../../src/web/parts/show-usd.ts'

test('rows that are left out are counted, and one of them is "it"', () => {
  expect(leftOutWords(1, 'keys')).toEqual({ said: '1 disabled key not shown.', button: 'Show it' })
  expect(leftOutWords(1_200, 'keys')).toEqual({ said: '1,200 disabled keys not shown.', button: 'Show them' })
})

for (const [exact, places, text] of [
  ['0', 6, '$0.000000'],
  ['0.000', 2, '$0.00'],
  ['0', 0, '$0'],
  ['0.000000001', 6, '<$0.000001'],
  ['-0.000000001', 6, '>−$0.000001'],
  ['0.5', 6, '$0.500000'],
] as const)
  test(`${exact} in a column with ${places} places is ${text}`, () => {
    expect(showUsd(exact, places)).toBe(text)
  })
