/** Numbers that a client or a model wrote reach the other side letter by letter. Rules: requests.md "Exact bytes"; platform.md "Byte strings". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { decode, encode, fromBytes, toBytes } from '../../../src/core/bytes/byte-string.ts'
import { parseExact } from '../../../src/core/bytes/exact-json.ts'

test('numbers keep every letter, everything else is as JSON.parse reads it', () => {
  const number = fc.constantFrom('12345678901234567890', '1.0', '-0', '1e5', '1E+05', '0.10', '5', '-7', '1e400', '0.1')
  fc.assert(
    fc.property(fc.array(number), fc.jsonValue(), (numbers, value) => {
      const text = `{"n":[${numbers.join(',')}],"v":${JSON.stringify(value)}}`
      expect(JSON.stringify(parseExact(text))).toBe(text)
      expect(JSON.parse(JSON.stringify(parseExact(text)))).toEqual(JSON.parse(text))
    }),
  )
  expect(() => parseExact('{')).toThrow()
})

test('a byte string holds any bytes, and text survives the way there and back', () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.string({ unit: 'grapheme' }), (bytes, text) => {
      expect(new Uint8Array(toBytes(fromBytes(bytes)))).toEqual(bytes)
      expect(fromBytes(bytes).length).toBe(bytes.length)
      expect(decode(encode(text))).toBe(text)
    }),
  )
})
