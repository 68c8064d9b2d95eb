/** Base64 that ends in a quote is decoded as the engine decodes it, or not at all: what would break a line, or is no base64, is left to the slow way. */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { decodeBase64Line } from '../../../src/core/bytes/base64-line.ts'

/** The decoded text of what stands between two marks, or undefined. */
function decoded(base64: string, behind = '"}'): string | undefined {
  const source = Buffer.from(`<${base64}${behind}`)
  const target = new Uint8Array(source.length + 3).fill(0x2e)
  const end = decodeBase64Line(source, 1, source.length, target, 3)
  if (end === -1) return undefined
  expect(Buffer.from(target.subarray(0, 3)).toString()).toBe('...')
  return Buffer.from(target.subarray(3, end)).toString('latin1')
}

test('what has no byte below a space is decoded, of whatever length; what has one is not', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const isLine = bytes.every((byte) => byte >= 0x20)
      expect(decoded(Buffer.from(bytes).toString('base64'))).toBe(isLine ? Buffer.from(bytes).toString('latin1') : undefined)
    }),
  )
  for (const text of ['', 'a', 'ab', 'abc', 'abcd', 'é', '\x7f\xff'])
    expect(decoded(Buffer.from(text, 'latin1').toString('base64'))).toBe(Buffer.from(text, 'latin1').toString('latin1'))
})

test('what is no base64, or has no end, is not decoded', () => {
  for (const text of ['YQ', 'YQ=', 'Y', 'Y===', '====', 'YW=j', 'YWJ\u00e9', 'YW Jj', 'YWJj\\', 'YQ==YQ=='])
    expect([text, decoded(text)]).toEqual([text, undefined])
  for (const behind of ['', '=', '=='] as const) expect(decoded('YWJj', behind)).toBeUndefined()
})
