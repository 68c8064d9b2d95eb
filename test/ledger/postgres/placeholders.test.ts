/** A statement in SQLite's words is the same one for Postgres: placeholders are counted as SQLite does, and nothing else is touched. */

import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { numberPlaceholders } from '../../../src/ledger/postgres/placeholders.ts'

const of = (text: string) => {
  const { text: numbered, parameters } = numberPlaceholders(text)
  return [numbered, parameters.map((name) => name ?? null)]
}

test('by place: `?` is one more than the greatest so far, `?N` and `$N` are that one', () => {
  expect(of('SELECT ?, ?')).toEqual(['SELECT $1, $2', [null, null]])
  expect(of('SELECT ?2, ?1, ?2')).toEqual(['SELECT $2, $1, $2', [null, null]])
  expect(of('SELECT ?3, ?')).toEqual(['SELECT $3, $4', [null, null, null, null]])
  expect(of('SELECT $2, $1')).toEqual(['SELECT $2, $1', [null, null]])
  expect(of('SELECT 1')).toEqual(['SELECT 1', []])
})

test('by name: one number wherever it stands', () => {
  expect(of('SELECT $from, :to, @from, $from')).toEqual(['SELECT $1, $2, $1, $1', ['from', 'to']])
  expect(of('INSERT INTO a VALUES (:accountId,$a_1)')).toEqual(['INSERT INTO a VALUES ($1,$2)', ['accountId', 'a_1']])
})

test('a cast, a word with a dollar sign and an assignment are none', () => {
  expect(of('SELECT ?1::bigint, $a::text, b::int8')).toEqual(['SELECT $1::bigint, $2::text, b::int8', [null, 'a']])
  expect(of('SELECT a$b, é$c FROM x')).toEqual(['SELECT a$b, é$c FROM x', []])
  expect(of('f(a := ?)')).toEqual(['f(a := $1)', [null]])
})

test('nothing in strings, names, comments and dollar quotes', () => {
  const untouched = [
    "SELECT 'it''s ? :a $b ' || 'x'",
    `SELECT "a?:b""$c"`,
    "SELECT e'\\' ? ' || E'a''?'",
    '-- is it ? :a\nSELECT 1 -- ?',
    '/* ? /* :a */ ? */ SELECT 1',
    'DO $$ SELECT ?, $1 $$',
    'DO $body$ SELECT $$ ? $$, :a $body$',
    "SELECT 'unfinished ?",
    '/* unfinished ?',
    'DO $x$ unfinished ?',
  ]
  for (const text of untouched) expect(of(text)).toEqual([text, []])
  expect(of('SELECT \'?\', ? -- ?\n, "?", /* ? */ :a')).toEqual(['SELECT \'?\', $1 -- ?\n, "?", /* ? */ $2', [null, 'a']])
})

test('SQLite counts the same, whatever the mixture', () => {
  const db = new Database(':memory:')
  const piece = fc.oneof(fc.constantFrom('?', '?1', '?2', '?3', ':a', '$b', ':ab', "'? it''s :a'", '"?"', '/* ? */ 1', '-- ?\n 1', '1'))
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 8 }), (pieces) => {
      const text = `SELECT ${pieces.map((one) => (one === '"?"' ? '1 AS "?"' : one)).join(', ')}`
      expect(numberPlaceholders(text).parameters.length).toBe(db.prepare(text).paramsCount)
    }),
  )
  db.close()
})
