/** Of Telegram's updates only private words of their own sender are heard, and no update of any shape breaks the reader. Rules: pages.md "Telegram". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { readUpdate } from '../../src/telegram/incoming.ts'

const from = { id: 7, is_bot: false, first_name: 'Ann', username: 'ann' }
const chat = { id: 7, type: 'private' }
const message = { message_id: 1, from, chat, text: 'hello' }

test('a private message and a press of a button are read', () => {
  expect(readUpdate({ update_id: 1, message })).toEqual({ number: 1, incoming: { chat: 7, name: '@ann', kind: 'text', text: 'hello' } })
  const press = { id: 'p', from, message: { message_id: 3, chat }, data: 'keys' }
  const incoming = { chat: 7, name: '@ann', kind: 'button', data: 'keys', message: 3, press: 'p' } as const
  expect(readUpdate({ update_id: 2, callback_query: press })).toEqual({ number: 2, incoming })
  expect(readUpdate({ update_id: 2, callback_query: { ...press, data: 'x'.repeat(65) } })?.incoming).toBeUndefined()
  expect(readUpdate({ update_id: 2, callback_query: { ...press, from: { ...from, id: 8 } } })?.incoming).toBeUndefined()
  expect(readUpdate({ update_id: 2, callback_query: { ...press, message: undefined } })?.incoming).toBeUndefined()
})

for (const [what, more] of [
  ['a group', { chat: { id: 7, type: 'group' } }],
  ['a channel', { chat: { id: -7, type: 'channel' } }],
  ['another chat', { chat: { id: 8, type: 'private' } }],
  ['a bot', { from: { ...from, is_bot: true } }],
  ['a forwarded message', { forward_origin: { type: 'user' } }],
  ['a message by another bot', { via_bot: { id: 1 } }],
  ['a picture', { text: undefined }],
  ['no sender', { from: undefined }],
] as const)
  test(`${what} is not heard`, () => {
    expect(readUpdate({ update_id: 1, message: { ...message, ...more } })).toEqual({ number: 1, incoming: undefined })
  })

test('a name is one line of what can be seen', () => {
  const named = (first_name: unknown) => readUpdate({ update_id: 1, message: { ...message, from: { id: 7, first_name } } })?.incoming?.name
  expect(named('Ann\u202e\nB\u0000\u001b[31m')).toBe('Ann B [31m')
  expect(named('\u200b\u200b')).toBe('without a name')
  expect(named(undefined)).toBe('without a name')
  expect([...(named('😀'.repeat(100)) ?? '')]).toHaveLength(64)
})

test('whatever comes is read or is nothing', () => {
  const update = fc.record({ update_id: fc.anything(), message: fc.anything(), callback_query: fc.anything() }, { requiredKeys: [] })
  fc.assert(fc.property(fc.oneof(fc.anything(), update), (value) => void readUpdate(value)))
})
