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
  const row = new Proxy(['key', 'live'], {
    get(cells, name) {
      if (name === '1') looks++
      return Reflect.get(cells, name)
    },
  })
  tableText(['ID', 'STATE'], new Array<string[]>(10_000).fill(row), '')
  expect(looks).toBe(20_000)
})
