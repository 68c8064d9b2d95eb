/** A code that was typed is the one that was given out, or none: no slip of the hand reaches the ledger. */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { codeDisplayOf, makeCode, readCode } from '../../src/core/prepaid-code.ts'

const code = fc.uint8Array({ minLength: 24, maxLength: 24 }).map((bytes) => makeCode(() => bytes))
const PLACES = [...'TG-00000-00000-00000-00000-00000'].flatMap((character, index) => (character === '0' ? [index] : []))
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

test('a code has 120 random bits and the form that people are told', () => {
  fc.assert(fc.property(code, (made) => expect(made).toMatch(/^TG(-[0-9A-HJKMNP-TV-Z]{5}){5}$/)))
  const bytes = new Uint8Array(24)
  const made = new Set([makeCode(() => bytes)])
  for (let place = 0; place < 24; place++) {
    for (let bit = 0; bit < 5; bit++) made.add(makeCode(() => bytes.with(place, 1 << bit)))
  }
  expect(made.size).toBe(121)
  expect(makeCode(() => new Uint8Array(24).fill(31))).toBe('TG-ZZZZZ-ZZZZZ-ZZZZZ-ZZZZZ-ZZZZW')
  expect(() => makeCode(() => new Uint8Array(23))).toThrow()
})

test('it is read however it is typed: case, hyphens, spaces, prefix, look-alikes', () => {
  fc.assert(
    fc.property(code, fc.infiniteStream(fc.nat(3)), (made, choices) => {
      const choice = () => choices.next().value ?? 0
      const bare = made.replaceAll('-', '')
      const typed = [...(choice() === 0 ? bare.slice(2) : bare)].map((character, index) => {
        const likes = index < 2 ? [character] : ({ 0: ['0', 'O', 'o'], 1: ['1', 'I', 'l', 'L'] }[character] ?? [character])
        const like = likes[choice() % likes.length] ?? character
        const gap = ['', ' ', '-', ' – '][choice()] ?? ''
        return (choice() < 2 ? like : like.toLowerCase()) + gap
      })
      expect(readCode(` ${typed.join('')}\n`)).toBe(made)
    }),
  )
})

test('one wrong character and any two that changed places are found', () => {
  fc.assert(
    fc.property(code, fc.constantFrom(...PLACES), fc.constantFrom(...PLACES), fc.constantFrom(...ALPHABET), (made, at, other, wrong) => {
      const characters = [...made]
      expect(readCode(characters.with(at, wrong).join(''))).toBe(characters[at] === wrong ? made : undefined)
      const swapped = characters
        .with(at, characters[other] ?? '')
        .with(other, characters[at] ?? '')
        .join('')
      expect(readCode(swapped)).toBe(swapped === made ? made : undefined)
    }),
  )
})

test('what is no code is none, however long', () => {
  const made = makeCode(() => new Uint8Array(24))
  for (const typed of [
    '',
    'TG',
    'TG-',
    made.slice(0, -1),
    `${made}0`,
    `SK-${made.slice(3)}`,
    made.replace('0', 'U'),
    `${made}${' '.repeat(10_000)}`,
  ]) {
    expect(readCode(typed)).toBeUndefined()
  }
  expect(codeDisplayOf('TG-ZZZZZ-ZZZZZ-ZZZZZ-ZZZZZ-ZZZZP')).toBe('TG-…ZZZP')
})
