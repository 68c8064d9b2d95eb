/** A cell of ours is read back as it was, and none is run as a formula. Rules: requests.md "Usage". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { csvLine } from '../../src/core/csv.ts'

/** A reader of the standard's form, slow and plain. */
function parse(line: string): string[] {
  const cells: string[] = []
  let at = 0
  for (;;) {
    if (line[at] === '"') {
      let cell = ''
      for (at++; line[at] !== '"' || line[at + 1] === '"'; at++) {
        if (line[at] === '"') at++
        cell += line[at]
      }
      cells.push(cell)
      at++
    } else {
      const end = line.slice(at).search(/[,\r]/) + at
      cells.push(line.slice(at, end))
      at = end
    }
    if (line.slice(at) === '\r\n') return cells
    expect(line[at]).toBe(',')
    at++
  }
}

test('a line is one record with its break, of numbers, flags, nothing and text', () => {
  expect(csvLine(['a', 1, 0.000105, -3, true, null, ''])).toBe('a,1,0.000105,-3,true,,\r\n')
})

test('a number with every digit is a number, also below nothing', () => {
  expect(csvLine([{ decimal: '-0.000105000001' }, { decimal: '12' }])).toBe('-0.000105000001,12\r\n')
})

test('what would begin a formula is text, also behind spaces and breaks', () => {
  for (const evil of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', ' =1', '\n@x', '＝1', '=HYPERLINK("http://x";"y")']) {
    const [cell = ''] = parse(csvLine([evil]))
    expect([evil, cell]).toEqual([evil, `'${evil}`])
  }
  expect(csvLine(['=a"b'])).toBe('"\'=a""b"\r\n')
})

test('text that begins or ends in space is quoted, since readers trim what is not', () => {
  expect(csvLine([' a', 'a ', '\u3000a', 'a\t', 'a b'])).toBe('" a","a ","\u3000a","a\t",a b\r\n')
})

test('any text comes back, with an apostrophe before it at most', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' }), { minLength: 1 }), (texts) => {
      const cells = parse(csvLine(texts))
      expect(cells).toHaveLength(texts.length)
      cells.forEach((cell, index) => {
        expect([texts[index], `'${texts[index]}`]).toContain(cell)
        expect(cell.trimStart()).not.toMatch(/^[=+\-@＝＋－＠]/)
      })
    }),
  )
})
