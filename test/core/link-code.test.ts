/** A code that links a chat is read however it is typed, and nothing else is one. Rules: pages.md "Telegram". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { makeLinkCode, readLinkCode } from '../../src/core/link-code.ts'

test('every code is read as it was made, in any case, with hyphens and with the letters that look like digits', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 10, maxLength: 16 }), (bytes) => {
      const code = makeLinkCode(() => bytes)
      expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{10}$/)
      expect(readLinkCode(code)).toBe(code)
      const typed = ` ${code.toLowerCase().replaceAll('0', 'o').replaceAll('1', 'l').replace(/^.{5}/, '$&-')}\n`
      expect(readLinkCode(typed)).toBe(code)
    }),
  )
})

test('a text of another length or alphabet is no code, and too few bytes make none', () => {
  for (const text of ['', '012345678', '01234567890', '0123456789'.repeat(5), '01234567U9', '0123456789\u0000'])
    expect(readLinkCode(text)).toBeUndefined()
  expect(() => makeLinkCode(() => new Uint8Array(9))).toThrow('too few')
})
