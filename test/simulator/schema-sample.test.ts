/** What the simulator makes for a schema fits that schema, whatever its shape. Rules: faults.md "Simulator". */

import { expect, test } from 'bun:test'
import { type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import fc from 'fast-check'
import { sampleOf } from '../../src/simulator/schema-sample.ts'

const leaf: fc.Arbitrary<TSchema> = fc.oneof(
  fc.record({ minLength: fc.nat(40) }).map((bounds) => Type.String(bounds)),
  fc.record({ maxLength: fc.nat(10) }).map((bounds) => Type.String(bounds)),
  fc.tuple(fc.integer({ min: -50, max: 50 }), fc.nat(20)).map(([minimum, more]) => Type.Integer({ minimum, maximum: minimum + more })),
  fc.integer({ min: -50, max: 50 }).map((exclusiveMinimum) => Type.Number({ exclusiveMinimum })),
  fc.integer({ min: -50, max: 50 }).map((maximum) => Type.Number({ maximum })),
  fc.constantFrom(
    Type.Boolean(),
    Type.Null(),
    Type.Literal('only'),
    Type.Union([Type.Literal('a'), Type.Literal('b')]),
    Type.Integer({ multipleOf: 5 }),
  ),
)

const schema = fc.letrec<{ any: TSchema }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), tie('any'), { maxKeys: 4 }).map((properties) => Type.Object(properties)),
    fc.tuple(tie('any'), fc.nat(3)).map(([items, minItems]) => Type.Array(items, { minItems })),
    tie('any').map((inner) => Type.Union([Type.Null(), inner])),
    tie('any').map((inner) => Type.Object({ maybe: Type.Optional(inner), sure: inner })),
  ),
})).any

test('a sample fits its schema', () => {
  fc.assert(
    fc.property(schema, (given) => {
      expect(Value.Check(given, sampleOf(given))).toBe(true)
    }),
    { numRuns: 300 },
  )
})

test('the shapes that tools really have: references, enums, defaults, formats, nested lists', () => {
  const tool = {
    type: 'object',
    $defs: {
      todo: { type: 'object', properties: { id: { type: 'string', format: 'uuid' }, next: { $ref: '#/$defs/todo' } }, required: ['id'] },
    },
    allOf: [{ properties: { extra: { const: 5 } }, required: ['extra'] }],
    properties: {
      status: { enum: ['open', 'done'] },
      limit: { type: 'integer', default: 30 },
      todos: { type: 'array', items: { $ref: '#/$defs/todo' }, minItems: 2 },
      when: { type: ['null', 'string'], format: 'date-time' },
      optional: { type: 'string' },
      pair: { type: 'array', prefixItems: [{ type: 'boolean' }, { type: 'number' }] },
    },
    required: ['status', 'limit', 'todos', 'when', 'pair'],
  }
  const todo = { id: '00000000-0000-4000-8000-000000000000' }
  expect(sampleOf(tool) as object).toEqual({
    status: 'open',
    limit: 30,
    todos: [todo, todo],
    when: '2026-01-01T00:00:00Z',
    pair: [true, 1],
    extra: 5,
  })
  const endless = { $defs: { a: { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, required: ['a'] }, b: { $ref: '#/$defs/b' } } }
  expect(JSON.stringify(sampleOf({ ...endless, $ref: '#/$defs/a' })).length).toBeLessThan(200)
  for (const odd of [
    {},
    { $ref: '#/$defs/b', ...endless },
    { type: 'array' },
    { type: 'object', properties: [] },
    { anyOf: [] },
    { type: 'nonsense' },
  ])
    expect(sampleOf(odd)).toBeDefined()
})
