/** A door's edit of a body takes out what it names and leaves every other byte as it was, in whatever order, nesting and spacing the members come. */

import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { ascii } from '../../../src/core/bytes/byte-string.ts'
import { droppedFields, editBody } from '../../../src/core/native/edit-body.ts'

const edit = (text: string, paths: readonly string[], added: readonly (typeof FIRST)[] = []): string =>
  new TextDecoder().decode(editBody(new TextEncoder().encode(text), droppedFields(paths), added))
const FIRST = ascii`"v":1`

describe('what is left keeps its bytes', () => {
  test.each([
    ['{"model":"m","stream":true,"a":1}', ['model', 'stream'], '{"a":1}'],
    ['{"a":1,"model":"m","b":"“”","stream":true}', ['model', 'stream'], '{"a":1,"b":"“”"}'],
    ['{ "a" : 1.0 , "model" : "m" }', ['model'], '{ "a" : 1.0 }'],
    ['{"model":"m"}', ['model'], '{}'],
    ['{"a":1}', ['model'], '{"a":1}'],
    ['{"t":[{"d":1,"n":"x"},{"n":"y","d":2}]}', ['t[].d'], '{"t":[{"n":"x"},{"n":"y"}]}'],
    ['{"t":[{"c":{"scope":1,"ttl":2}},{"c":null},"s"]}', ['t[].c.scope'], '{"t":[{"c":{"ttl":2}},{"c":null},"s"]}'],
    ['{"t":"no array"}', ['t[].d'], '{"t":"no array"}'],
    ['{"o":{"a":1,"b":2,"c":3}}', ['o.a', 'o.b'], '{"o":{"c":3}}'],
    ['{"o":{"a":1,"b":2,"c":3}}', ['o.b', 'o.c'], '{"o":{"a":1}}'],
    ['{"a\\"}":"}{","model":"\\"","b":[]}', ['model'], '{"a\\"}":"}{","b":[]}'],
  ])('%s without %p', (text, paths, left) => expect(edit(text, paths)).toBe(left))

  test('members are added at the front, with a comma where something is left', () => {
    expect(edit('{"a":1}', [], [FIRST])).toBe('{"v":1,"a":1}')
    expect(edit('{"model":1}', ['model'], [FIRST])).toBe('{"v":1}')
    expect(edit('{"model":1,"a":2}', ['model'], [FIRST])).toBe('{"v":1,"a":2}')
    expect(edit(' { } ', [], [FIRST])).toBe(' {"v":1 } ')
  })
})

test('any body is what a parser would make of it', () => {
  const names = fc.constantFrom('model', 'stream', 'tools', 'x', 'y')
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.string(),
      fc.integer(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(names, tie('value'), { maxKeys: 4 }),
    ),
  }))
  const body = fc.dictionary(names, value, { maxKeys: 5 })
  const paths = fc.subarray(['model', 'stream', 'tools[].x', 'tools[].y', 'x.y', 'x.model', 'x.tools[].stream', 'y[].model', 'y'])
  fc.assert(
    fc.property(body, paths, fc.constantFrom(0, 2), (object, dropped, spaces) => {
      const expected = structuredClone(object)
      for (const path of dropped) without(expected, path.split('.'))
      expect(JSON.parse(edit(JSON.stringify(object, null, spaces), dropped))).toEqual(expected)
    }),
  )
})

function without(value: unknown, [first = '', ...rest]: readonly string[]): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return
  const object = value as Record<string, unknown>
  const name = first.replace('[]', '')
  if (rest.length === 0) delete object[name]
  else if (first.endsWith('[]')) {
    const list = object[name]
    if (Array.isArray(list)) for (const one of list) without(one, rest)
  } else without(object[name], rest)
}
