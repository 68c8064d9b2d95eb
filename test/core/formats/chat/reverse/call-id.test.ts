/**
 * Ids of calls between a server of the chat format and clients that carry native ones: whatever the server says is an id that a native upstream takes, no two become one,
 * and the server gets its own back. Rules: openai.md "Calls".
 */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { chatCallId, nativeCallId } from '../../../../../src/core/formats/chat/reverse/call-id.ts'
import { messageOf, readCompletion } from '../../../../../src/core/formats/chat/reverse/completion.ts'
import { runs } from '../../../../support/property-runs.ts'
import type { Json } from '../chat-call.ts'

const TAKEN = /^[a-zA-Z0-9_-]{1,128}$/
/** As long as is kept. */
const ids = fc
  .oneof(
    fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' }),
    fc.tuple(fc.constantFrom('f', 'read_tide'), fc.nat(99)).map(([name, turn]) => `functions.${name}:${turn}`),
    fc.base64String({ maxLength: 60 }).map((rest) => `id64_${rest}`),
    fc.constantFrom('id64_', 'id64_Zg', 'toolu_01', 'call-3'),
  )
  .filter((id) => Buffer.byteLength(id) <= 90)

test('every id becomes one that native takes, and the server’s own again', () => {
  fc.assert(
    fc.property(ids, (id) => {
      const kept = nativeCallId(id, 0, 'msg_1')
      expect(kept).toMatch(TAKEN)
      expect(chatCallId(kept)).toBe(id)
      expect(nativeCallId(id, 5, 'msg_2')).toBe(kept)
    }),
    { numRuns: runs(500) },
  )
})

test('an id that native takes stays as it is, both ways, and so does what only looks like one of ours', () => {
  for (const id of ['toolu_01A', 'call_9', 'a-b_C']) expect([nativeCallId(id, 0, 'm'), chatCallId(id)]).toEqual([id, id])
  for (const id of ['id64_', 'id64_*', 'id64_Zh', 'id64_Zg==', 'id64__w', 5, undefined]) expect(chatCallId(id)).toBe(id)
})

test('an id that is too long for native is made anew, each of an answer its own', () => {
  const long = 'functions.f:0'.repeat(20)
  expect([nativeCallId(long, 0, 'msg_7'), nativeCallId(long, 1, 'msg_7')]).toEqual(['call_7_0', 'call_7_1'])
  expect(nativeCallId(undefined, 2, 'msg_7')).toBe('call_7_2')
})

test('the calls of a whole completion have such ids, too', () => {
  const call = (id: string): Json => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })
  const message = { role: 'assistant', content: null, tool_calls: [call('functions.f:0'), call('functions.f:1')] }
  const completion = readCompletion(Buffer.from(JSON.stringify({ id: 'c', choices: [{ message, finish_reason: 'tool_calls' }] })))
  const native = completion && messageOf(completion, { reasoning: 'auto', id: 'msg_1' })
  if (native === undefined || 'error' in native) throw new Error('no answer')
  const said = native.json['content'] as readonly Json[]
  expect(said.map(({ id }) => id)).toEqual(['id64_ZnVuY3Rpb25zLmY6MA', 'id64_ZnVuY3Rpb25zLmY6MQ'])
})
