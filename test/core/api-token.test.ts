/** A token's form: a mistyped one is none of ours, whichever character is wrong, and it is no key. Rules: operator-api.md "Tokens". */

import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { isToken, makeToken, tokenDisplayOf, tokenStateOf } from '../../src/core/api-token.ts'
import { isSecret, makeSecret } from '../../src/core/key.ts'

const make = (): string => makeToken(() => randomBytes(64))

test('a new one is known as one; a key is none, and none is a key', () => {
  const token = make()
  expect(token).toMatch(/^tgop_[0-9A-Za-z]{43}$/)
  expect([isToken(token), isSecret(token)]).toEqual([true, false])
  const secret = makeSecret(() => randomBytes(64))
  expect([isToken(secret), isToken(`tgop_${secret.slice(3)}`)]).toEqual([false, true])
  expect(tokenDisplayOf(token)).toBe(`tgop_…${token.slice(-4)}`)
})

test('any one wrong character, and any two that are swapped, are found', () => {
  const token = make()
  fc.assert(
    fc.property(fc.integer({ min: 5, max: 47 }), fc.constantFrom(...'0Aaz9Z'), (place, letter) => {
      const wrong = token.slice(0, place) + letter + token.slice(place + 1)
      expect(isToken(wrong)).toBe(wrong === token)
      const swapped = token.slice(0, place) + (token[place + 1] ?? '') + (token[place] ?? '') + token.slice(place + 2)
      expect(isToken(swapped)).toBe(swapped === token)
    }),
  )
})

test('it is revoked before it is expired, and ends at its very millisecond', () => {
  expect(tokenStateOf({ expiresAt: 10, revokedAt: null }, 9)).toBe('live')
  expect(tokenStateOf({ expiresAt: 10, revokedAt: null }, 10)).toBe('expired')
  expect(tokenStateOf({ expiresAt: 10, revokedAt: 3 }, 11)).toBe('revoked')
})
