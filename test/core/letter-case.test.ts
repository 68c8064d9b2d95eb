/** Cases of letters are those of a regular expression with `iu`, over all of Unicode. */

import { expect, test } from 'bun:test'
import { spellingAfter, spellingFrom, spellingsOf } from '../../src/core/letter-case.ts'

const PLANES_END = 0x2_0000
/** Whole scripts without cases, and what is no letter at all. */
const isOther = (point: number): boolean => (point >= 0x3400 && point < 0xa000) || (point >= 0xac00 && point < 0xfb00)

test('the same letters are found as by a regular expression that minds no case', () => {
  const letters = Array.from({ length: PLANES_END }, (_, point) => point)
    .filter((point) => !isOther(point))
    .map((point) => String.fromCodePoint(point))
  const all = letters.filter((letter) => /\p{Cased}|\p{M}/u.test(letter)).join('')
  for (const letter of letters) {
    const same = all.match(new RegExp(`\\u{${letter.codePointAt(0)?.toString(16)}}`, 'giu')) ?? [letter]
    const lower = same.filter((one) => !/[A-Z]/.test(one))
    if (lower.length === 1 && spellingsOf(letter)[0]?.length === 1) continue
    expect([letter, spellingsOf(letter)]).toEqual([letter, [lower]])
  }
}, 60_000)

test('spellings follow each other in the order of their code points, from any text on', () => {
  const every = (text: string): string[] => {
    const found: string[] = []
    const of = spellingsOf(text)
    for (let next = spellingFrom(of, ''); next !== undefined; next = spellingAfter(of, next)) found.push(next)
    return found
  }
  expect(every('Aß')).toEqual(['aß', 'aẞ'])
  expect(every('ÄK1')).toEqual(['Äk1', 'Ä\u212a1', 'äk1', 'ä\u212a1'])
  expect(every('σı')).toEqual(['Σı', 'ςı', 'σı'])
  expect(every('')).toEqual([''])
  const of = spellingsOf('äö')
  expect(spellingFrom(of, 'Äöx')).toBe('Äö')
  expect(spellingFrom(of, 'Äò')).toBe('Äö')
  expect(spellingFrom(of, 'Ä÷')).toBe('äÖ')
  expect(spellingFrom(of, 'ä')).toBe('äÖ')
  expect(spellingFrom(of, 'å')).toBeUndefined()
})
