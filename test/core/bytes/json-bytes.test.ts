/** A line that is put together as bytes is, letter by letter, what `JSON.stringify` would have written: it is what the chain hashes. */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { asBytes, JsonBytes } from '../../../src/core/bytes/json-bytes.ts'
import { runs } from '../../support/property-runs.ts'

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('"', '\\', '\u007f', '\u0080', 'é', 'ÿ', '\ud800', ''),
)
const whole = fc.oneof(
  fc.nat(),
  fc.maxSafeInteger(),
  fc.constantFrom(0, 9, 10, 99_999, 100_000, 2 ** 31 - 1, 2 ** 31, 1e9, 1e15 - 1, 1e15, 1e15 + 1),
)

test('texts, whole numbers of either kind, null and what was made before', () => {
  const line = new JsonBytes()
  const part = fc.oneof(text, whole, fc.bigInt(), fc.constant(null))
  fc.assert(
    fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
      line.clear().plain('[').raw(asBytes('"ü"'))
      for (const one of parts) {
        if (typeof one === 'string') line.text(',', one)
        else line.whole(',', one)
      }
      const expected = parts.map((one) => (typeof one === 'string' ? JSON.stringify(one) : `${one}`))
      expect(line.plain(']').toString()).toBe(`["ü"${expected.map((one) => `,${one}`).join('')}]`)
    }),
    { numRuns: runs(300) },
  )
})

test('it grows as far as a line needs, and keeps what is there', () => {
  const line = new JsonBytes()
  for (let n = 0; n < 3_000; n++) line.whole('', n).text(',', 'x'.repeat(n % 7))
  expect(line.toString()).toBe(Array.from({ length: 3_000 }, (_, n) => `${n},"${'x'.repeat(n % 7)}"`).join(''))
})
