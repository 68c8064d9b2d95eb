/** Every turn of a conversation has one key; other conversations have others. Rules: pool.md "Affinity". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { conversationOf, type Opening } from '../../src/core/affinity.ts'

const opening = (more: Partial<Opening> = {}): Opening => ({
  modelId: 'claude-sonnet-5-5',
  system: [{ type: 'text', text: 'You are a careful engineer.' }],
  tools: [{ name: 'Write', input_schema: { type: 'object' } }],
  firstUserTurn: 'Hello',
  ...more,
})
const byOpening = (more: Partial<Opening> = {}): string => conversationOf({}, () => opening(more))
const never = (): Opening => {
  throw new Error('the opening is not looked at')
}

test("the client's own id decides, in the order of the rules, and spares the look at the opening", () => {
  const session = '0d1c9a2e-7d41-4c52-9a35-2a54ab9f0b11'
  const userId = `user_abc_account_def_session_${session}`
  expect(conversationOf({ userId, promptCacheKey: 'cache', sessionHeader: 'header' }, never)).toBe(`id\n${session}`)
  expect(conversationOf({ userId: JSON.stringify({ device_id: 'd', session_id: session }) }, never)).toBe(`id\n${session}`)
  expect(conversationOf({ userId: 'user_abc', promptCacheKey: 'cache', sessionHeader: 'header' }, never)).toBe('id\ncache')
  expect(conversationOf({ sessionHeader: 'header' }, never)).toBe('id\nheader')
})

test('a user id without a session, and ids that say nothing, are no conversation', () => {
  for (const userId of ['user-7', '{"device_id":"d"}', '{"session_id":7}', '{broken', '', 7, null, ['a']])
    expect(conversationOf({ userId, promptCacheKey: '  ', sessionHeader: null }, () => opening())).toBe(byOpening())
})

test('model, system, tools and first words each make another conversation; where cache markers stand does not', () => {
  const others = [
    byOpening(),
    byOpening({ modelId: 'other' }),
    byOpening({ system: 'You are a poet.' }),
    byOpening({ tools: [] }),
    byOpening({ firstUserTurn: 'Bye' }),
  ]
  expect(new Set(others).size).toBe(5)
  const marked = [{ type: 'text', text: 'You are a careful engineer.', cache_control: { type: 'ephemeral' } }]
  expect(byOpening({ system: marked })).toBe(byOpening())
})

test('what is looked at is bounded, and no JSON value breaks it', () => {
  const long = 'x'.repeat(30_000_000)
  expect(byOpening({ firstUserTurn: long, system: [long, long], tools: { a: long } }).length).toBeLessThan(20_000)
  expect(conversationOf({ promptCacheKey: long }, never).length).toBeLessThan(1_000)
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (system, tools, firstUserTurn, userId) => {
      const key = conversationOf({ userId }, () => opening({ system, tools, firstUserTurn }))
      expect(key).toBe(conversationOf({ userId }, () => opening({ system, tools, firstUserTurn })))
    }),
  )
})
