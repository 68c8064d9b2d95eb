/** Which foreign secrets there are is told from the first eight bytes of their hashes, and a channel is cut off only where one is. Rules: keys.md "Imported keys". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { hasHead, headOf, mayBeForeign, withoutChannel } from '../../src/core/foreign-secret.ts'

test('a head is found exactly where it is in the list', () => {
  const head = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
  fc.assert(
    fc.property(fc.uniqueArray(head), head, (heads, other) => {
      const sorted = BigUint64Array.from(heads).sort()
      for (const one of [...heads, other]) expect(hasHead(sorted, one)).toBe(heads.includes(one))
    }),
  )
})

test('heads are in the order of their hashes, whose first bytes they are', () => {
  const hash = fc.uint8Array({ minLength: 32, maxLength: 32 })
  fc.assert(
    fc.property(hash, hash, (a, b) => {
      const [first, second] = [headOf(a), headOf(b)]
      const order = Buffer.compare(a.subarray(0, 8), b.subarray(0, 8))
      expect(first < second ? -1 : first > second ? 1 : 0).toBe(order)
    }),
  )
})

test('what is cut off is what follows the first hyphen behind `sk-`', () => {
  const cases: [string, string | undefined][] = [
    ['sk-KEY-12', 'KEY'],
    ['KEY-12-x', 'KEY'],
    ['sk-KEY', undefined],
    ['KEY', undefined],
    ['sk-sk-KEY', 'sk'],
    ['sk--KEY', ''],
  ]
  for (const [text, key] of cases) expect([text, withoutChannel(text)]).toEqual([text, key])
})

test('what may be foreign is 16 to 128 visible ASCII characters', () => {
  for (const text of ['a'.repeat(16), '!~'.repeat(64)]) expect([text, mayBeForeign(text)]).toEqual([text, true])
  for (const text of [
    'a'.repeat(15),
    'a'.repeat(129),
    `${'a'.repeat(20)} `,
    `${'a'.repeat(20)}\x7f`,
    `${'a'.repeat(20)}é`,
    `${'a'.repeat(20)}\n`,
  ])
    expect([text, mayBeForeign(text)]).toEqual([text, false])
})
