/** The file that says how far a ledger had come: what is read is what was written, and a file that says something else says nothing. Rules: ledger.md "A ledger that vanishes". */

import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { readWatermark, watermarkPathOf, writeWatermark } from '../../src/ledger/sqlite/watermark.ts'
import { makePath } from '../support/ledger.ts'

const MARK = { ledger: 'ldg_1', file: '1:2', rows: 3 }

test('what is read is what was written, again and again', () => {
  const path = makePath()
  expect(readWatermark(path)).toBeUndefined()
  writeWatermark(path, { ...MARK, rows: 1_000_000 })
  writeWatermark(path, MARK)
  expect(readWatermark(path)).toEqual(MARK)
})

test.each(['', '{', 'null', '[]', ...Object.keys(MARK).map((name) => JSON.stringify({ ...MARK, [name]: undefined }))])(
  'a file that says %s says nothing',
  (text) => {
    const path = makePath()
    writeFileSync(watermarkPathOf(path), text)
    expect(readWatermark(path)).toBeUndefined()
  },
)

test.each([-1, 0.5, '3'])('%p is no number of rows', (rows) => {
  const path = makePath()
  writeFileSync(watermarkPathOf(path), JSON.stringify({ ...MARK, rows }))
  expect(readWatermark(path)).toBeUndefined()
})
