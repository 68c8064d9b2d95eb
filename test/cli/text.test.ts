/** Tables of the command line: columns that stand below each other, and a cost that grows with the rows. */

import { expect, test } from 'bun:test'
import { tableText } from '../../src/cli/text.ts'

test('columns stand below each other whatever their letters take, and no line ends in spaces', () => {
  const rows = [
    ['a', '日本', '$1'],
    ['bcd', 'e', ''],
  ]
  expect(tableText(['ID', 'NAME', 'SUM'], rows, 'none')).toBe('ID   NAME  SUM\na    日本  $1\nbcd  e')
  expect(tableText(['ID'], [], 'none')).toBe('none')
})

test('a cell is looked at twice, however many rows there are', () => {
  let looks = 0
  const cells = (n: number): string[] =>
    new Proxy([`key_${n}`, 'live'], { get: (row, name) => (name === '1' && looks++, Reflect.get(row, name)) })
  tableText(
    ['ID', 'STATE'],
    Array.from({ length: 10_000 }, (_, n) => cells(n)),
    '',
  )
  expect(looks).toBe(20_000)
})
