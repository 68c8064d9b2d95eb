/**
 * The scan that finds the members of a body agrees with JSON.parse, and bodies that would stall the parser are refused before it. Rules: requests.md
 * "JSON bounds".
 */

import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { decode, encode } from '../../../src/core/bytes/byte-string.ts'
import { membersOf, scanJson } from '../../../src/core/bytes/json-scan.ts'
import { JSON_DEPTH_MAX, JSON_SEPARATORS_MAX } from '../../../src/core/limits.ts'
import { runs } from '../../support/property-runs.ts'
import { startProcessorWatch } from '../../support/until.ts'

/** JSON with spaces wherever they may stand, names escaped at will, and names repeated. */
const space = fc.constantFrom('', ' ', '\n', '\t \r\n')
const escaped = (text: string): string =>
  `"${Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`
const name = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('a', 'a"b', '\\', '{', '', '__proto__', ':', 'model'))
const value = fc.oneof(
  fc.tuple(fc.jsonValue(), fc.boolean()).map(([json, isWide]) => JSON.stringify(json, null, isWide ? 2 : 0)),
  fc.constantFrom('1.0', '12345678901234567890', '-0', '"}"', '"\\"]"', '"a\\\\"', '[]', '{ }', '"\\u007d,"', '"漢字👩‍👩‍👧"'),
)
const member = fc.tuple(name, fc.boolean(), value, space, space, space).map(([key, isEscaped, text, a, b, c]) => ({
  key,
  text,
  whole: `${a}${isEscaped ? escaped(key) : JSON.stringify(key)}${b}:${c}${text}${a}`,
}))
const object = fc.tuple(space, fc.array(member, { maxLength: 12 }), space)

describe('the members of an object', () => {
  test('spans are exactly the values, in order, repeated names included', () => {
    fc.assert(
      fc.property(object, ([before, members, after]) => {
        const text = `${before}{${members.map(({ whole }) => whole).join(',')}}${after}`
        JSON.parse(text)
        const bytes = encode(text)
        const found = membersOf(bytes)
        expect(found.map((m) => m.name)).toEqual(members.map(({ key }) => key))
        expect(found.map(({ value: { start, end } }) => decode(bytes.slice(start, end)))).toEqual(members.map((m) => m.text))
        expect(scanJson(bytes)).toHaveProperty('members', found)
      }),
      { numRuns: runs(500) },
    )
  })

  test('what JSON.parse keeps of a repeated name is its last span', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (first, second) => {
        const bytes = encode(`{"x":${JSON.stringify(first)} , "x": ${JSON.stringify(second)}}`)
        const span = membersOf(bytes).at(-1)?.value
        expect(JSON.parse(decode(bytes.slice(span?.start, span?.end)))).toEqual(JSON.parse(decode(bytes)).x)
      }),
    )
  })

  test('other documents have none, and no text at all makes it fail', () => {
    for (const text of ['[]', '["a",{"b":1}]', '"a:b"', '1', 'null', '{}', '']) expect(membersOf(encode(text))).toEqual([])
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]",:\\ au1') }), (text) => {
        expect(scanJson(encode(text))).toBeObject()
      }),
    )
  })
})

describe('what would stall the parser is refused before it is parsed', () => {
  const nested = (depth: number, open = '[', close = ']'): string => open.repeat(depth) + close.repeat(depth)

  test('nesting, exactly at the bound', () => {
    expect(scanJson(encode(nested(JSON_DEPTH_MAX)))).toBeObject()
    expect(scanJson(encode(nested(JSON_DEPTH_MAX + 1)))).toBe('too-deep')
    expect(scanJson(encode(`${'{"a":'.repeat(JSON_DEPTH_MAX + 1)}1`))).toBe('too-deep')
    expect(scanJson(encode(JSON.stringify({ a: nested(5000) })))).toBeObject()
  })

  test('separators, exactly at the bound, and none inside strings', () => {
    expect(scanJson(encode(`[${'1,'.repeat(JSON_SEPARATORS_MAX - 1)}1]`))).toEqual({ members: [], separators: JSON_SEPARATORS_MAX })
    expect(scanJson(encode(`[${'1,'.repeat(JSON_SEPARATORS_MAX)}1]`))).toBe('too-many-separators')
    expect(scanJson(encode(JSON.stringify({ a: ',:'.repeat(JSON_SEPARATORS_MAX) })))).toHaveProperty('members.0.name', 'a')
  })

  test('strings full of backslashes and quotes are read once', () => {
    const spentMs = startProcessorWatch()
    for (const text of ['\\'.repeat(1_000_000), '"'.repeat(1_000_000), '\\"'.repeat(1_000_000)])
      expect(scanJson(encode(JSON.stringify({ a: text })))).toHaveProperty('members.0.name', 'a')
    expect(scanJson(encode(`{"a":"${'\\'.repeat(1_000_001)}`))).toHaveProperty('members', [])
    expect(spentMs()).toBeLessThan(2_000)
  })
})
