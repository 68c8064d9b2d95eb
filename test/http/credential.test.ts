/** Where a key may stand in a request, and what is no key. Rules: keys.md "Credentials". */

import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { type Carrier, readCredential } from '../../src/core/credential.ts'
import { makeSecret } from '../../src/core/key.ts'
import { Refusal } from '../../src/core/refusal.ts'

const SECRET = makeSecret(() => randomBytes(64))
const OTHER = makeSecret(() => randomBytes(64))

function read(headers: Record<string, string> | [string, string][], carrier: Carrier = 'either'): string {
  const answer = readCredential(new Headers(headers), carrier)
  return answer instanceof Refusal ? answer.name : answer
}

test('the key is read from either header, the scheme in any case', () => {
  expect(read({ 'x-api-key': SECRET })).toBe(SECRET)
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) expect(read({ authorization: `${scheme} ${SECRET}` })).toBe(SECRET)
  expect(read({ authorization: `Bearer ${SECRET}` }, 'bearer')).toBe(SECRET)
})

test('nothing to look at is a missing key', () => {
  for (const headers of [{}, { authorization: '' }, { authorization: 'Bearer' }, { authorization: 'Bearer ' }, { 'x-api-key': '' }])
    expect(read(headers)).toBe('keyMissing')
  for (const authorization of ['Basic dXNlcjpwYXNz', 'Token x', SECRET, `Bearer${SECRET}`])
    expect(read({ authorization })).toBe('keyMissing')
})

test('where only Bearer counts, a key in x-api-key is a missing key', () => {
  expect(read({ 'x-api-key': SECRET }, 'bearer')).toBe('keyMissing')
})

test('both headers are invalid, with equal values or not, on every route', () => {
  for (const carrier of ['either', 'bearer'] as const) {
    for (const authorization of [`Bearer ${SECRET}`, `Bearer ${OTHER}`, 'Bearer', 'Basic x'])
      expect(read({ 'x-api-key': SECRET, authorization }, carrier)).toBe('keyInvalid')
  }
})

test('a header with nothing in it was not sent', () => {
  expect(read({ 'x-api-key': '', authorization: `Bearer ${SECRET}` })).toBe(SECRET)
  expect(read({ 'x-api-key': SECRET, authorization: '' })).toBe(SECRET)
})

test('a header that was sent twice is invalid', () => {
  for (const name of ['x-api-key', 'authorization']) {
    const value = name === 'authorization' ? `Bearer ${SECRET}` : SECRET
    expect(
      read([
        [name, value],
        [name, value],
      ]),
    ).toBe('keyInvalid')
    expect(
      read([
        [name, ''],
        [name, value],
      ]),
    ).toBe('keyInvalid')
  }
  expect(
    read([
      ['authorization', 'Basic dXNlcg=='],
      ['authorization', `Bearer ${SECRET}`],
    ]),
  ).toBe('keyInvalid')
})

test('spaces, too few characters, too many, or other than visible ASCII can be no key of any make', () => {
  const bad = [` ${SECRET}`, `\t${SECRET}`, `${SECRET} x`, 'sk-ant-api03-ab', 'sk-', 'null', 'é', `sk-${'é'.repeat(30)}`, 'a'.repeat(129)]
  for (const text of bad) {
    expect(read({ authorization: `Bearer ${text}` })).toBe('keyInvalid')
    if (text.trim() === text) expect(read({ 'x-api-key': text })).toBe('keyInvalid')
  }
  expect(read({ authorization: `Bearer\t${SECRET}` })).toBe('keyInvalid')
})

test('what may be the key of another gateway is left to the ledger to know, letter by letter', () => {
  for (const text of [`"${SECRET}"`, `${SECRET}x`, SECRET.slice(0, -1), 'sk-abcdefghijklm', 'a'.repeat(16), '~'.repeat(128)]) {
    expect(read({ authorization: `Bearer ${text}` })).toBe(text)
    expect(read({ 'x-api-key': text })).toBe(text)
  }
})
