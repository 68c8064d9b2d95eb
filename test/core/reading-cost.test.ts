/** What a body may cost the loop, in bytes, separators and escapes that are counted, not in time that is measured. Rules: requests.md "Heavy bodies". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { isLight, LIGHT_BYTES } from '../../src/core/reading-cost.ts'

const filled = (length: number, fill: string): Uint8Array => Buffer.alloc(length, fill)
/** `count` of `mark` in so many bytes of text. */
function marked(length: number, mark: string, count: number): Uint8Array {
  const bytes = Buffer.alloc(length, 'x')
  const step = Math.max(1, Math.floor(length / Math.max(1, count)))
  for (let placed = 0; placed < count; placed++) bytes[placed * step] = mark.charCodeAt(0)
  return bytes
}
/** The largest number for which it holds; it holds for 0, and for none above one for which it does not. */
function most(isTrue: (count: number) => boolean, max: number): number {
  let [low, high] = [0, max]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (isTrue(middle)) low = middle
    else high = middle - 1
  }
  return low
}

test('of text the loop reads half a megabyte, of other letters 200 kB, of escapes 50 kB', () => {
  const sizeOf = (fill: string): number => most((length) => isLight(filled(length, fill)), 2_000_000)
  expect([sizeOf('x'), sizeOf('é'), sizeOf('\\')]).toEqual([500_000, 200_000, 50_000])
})

test('the loop never reads more than some 3,300 separators, wherever they stand, in strings too; what has at most 8 KiB is not looked at', () => {
  for (const mark of ',:[{') {
    expect([mark, most((count) => isLight(marked(20_000, mark, count)), 20_000)]).toEqual([mark, 3_221])
    expect([mark, most((count) => isLight(marked(300_000, mark, count)), 300_000)]).toEqual([mark, 1_342])
    expect(isLight(filled(LIGHT_BYTES, mark))).toBe(true)
    expect(isLight(filled(LIGHT_BYTES + 1, mark))).toBe(false)
  }
})

test('neither order nor place decides: any bytes are as light as the same bytes sorted', () => {
  const weights: fc.WeightedArbitrary<number>[] = [
    { weight: 12, arbitrary: fc.constant(0x61) },
    { weight: 1, arbitrary: fc.constantFrom(...Buffer.from(',:[{\\é')) },
  ]
  fc.assert(
    fc.property(fc.array(fc.oneof(...weights), { minLength: 20, maxLength: 200 }), fc.integer({ min: 1, max: 1_500 }), (bytes, times) => {
      const whole = Uint8Array.from({ length: bytes.length * times }, (_, at) => bytes[at % bytes.length] ?? 0)
      expect(isLight(whole)).toBe(isLight(whole.toSorted()))
    }),
  )
})
