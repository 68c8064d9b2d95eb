/** A secret is recognized, a mistyped one is not, and a key is live to the millisecond of its expiry. Rules: keys.md "Secrets". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { displayOf, isSecret, type KeyRecord, makeSecret, stateOf } from '../../src/core/key.ts'

const secret = fc
  .uint8Array({ minLength: 64, maxLength: 64 })
  .filter((bytes) => bytes.some((byte) => byte < 248))
  .map((bytes) => makeSecret(() => bytes))

test('a secret is sk- and 43 base62 characters, and is recognized', () => {
  fc.assert(
    fc.property(secret, (text) => {
      expect(text).toMatch(/^sk-[0-9A-Za-z]{43}$/)
      expect(isSecret(text)).toBe(true)
      expect(displayOf(text)).toBe(`sk-…${text.slice(-4)}`)
    }),
  )
})

test('every single mistyped character is found, also in the checksum', () => {
  fc.assert(
    fc.property(
      secret,
      fc.integer({ min: 3, max: 45 }),
      fc.constantFrom(...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'),
      (text, at, letter) => {
        const typo = text.slice(0, at) + letter + text.slice(at + 1)
        expect(isSecret(typo)).toBe(typo === text)
      },
    ),
  )
})

test('two neighbours that changed places are found', () => {
  fc.assert(
    fc.property(secret, fc.integer({ min: 3, max: 44 }), (text, at) => {
      const swapped = text.slice(0, at) + text.charAt(at + 1) + text.charAt(at) + text.slice(at + 2)
      expect(isSecret(swapped)).toBe(swapped === text)
    }),
  )
})

test('what is not a secret is not taken for one', () => {
  const [good = ''] = fc.sample(secret, { numRuns: 1, seed: 7 })
  for (const text of ['', 'sk-', good.slice(3), `${good} `, `"${good}"`, good.toUpperCase(), `${good}\n`, good.slice(0, -1), `x${good}`])
    expect(isSecret(text), text).toBe(false)
})

test('every character is as likely as any other: bytes that would favour some are thrown away', () => {
  let next = 0
  const counts = new Map<string, number>()
  for (let i = 0; i < 62 * 8; i++) {
    const text = makeSecret(() => Uint8Array.from({ length: 67 }, () => next++ & 255))
    for (const letter of text.slice(3, 40)) counts.set(letter, (counts.get(letter) ?? 0) + 1)
  }
  expect(counts.size).toBe(62)
  const all = [...counts.values()]
  expect(Math.max(...all) / Math.min(...all)).toBeLessThan(1.2)
})

test('disabled is told before expired, and a key expires at the very millisecond', () => {
  const live: KeyRecord = {
    id: 'key_1',
    accountId: 'acc_1',
    name: 'n',
    display: 'sk-…abcd',
    plan: 'default',
    limitPicos: null,
    expiresAt: 1000,
    isActive: true,
    isAccountActive: true,
  }
  expect(stateOf(live, 999)).toBe('live')
  expect(stateOf(live, 1000)).toBe('expired')
  expect(stateOf({ ...live, expiresAt: null }, Number.MAX_SAFE_INTEGER)).toBe('live')
  expect(stateOf({ ...live, isActive: false }, 5000)).toBe('disabled')
  expect(stateOf({ ...live, isAccountActive: false }, 5000)).toBe('disabled')
})

test('the checksum is the CRC-32 of what stands before it, in base62: keys that were given out stay keys', () => {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  fc.assert(
    fc.property(secret, (text) => {
      const written = [...text.slice(-6)].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0)
      expect(written).toBe(Bun.hash.crc32(text.slice(3, -6)))
    }),
  )
})
