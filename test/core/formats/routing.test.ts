/** What a pool needs to know of a request, on all three formats. Rules: pool.md "Affinity". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { fromBytes } from '../../../src/core/bytes/byte-string.ts'
import { membersOf } from '../../../src/core/bytes/json-scan.ts'
import type { Format, Routing } from '../../../src/core/format.ts'
import { chatFormat } from '../../../src/core/formats/chat/format.ts'
import { messagesFormat } from '../../../src/core/formats/messages/format.ts'
import { responsesFormat } from '../../../src/core/formats/responses/format.ts'
import { Refusal } from '../../../src/core/refusal.ts'
import { sha256Hex } from '../../../src/relay/read-context.ts'
import { GOLDEN_MODEL } from '../../support/golden.ts'

type Json = Record<string, unknown>

function read<Echo>(format: Format<Echo>, text: string, headers: Record<string, string> = {}): Routing & { body: Uint8Array } {
  const bytes = Buffer.from(text)
  const body = { bytes, json: JSON.parse(text), members: membersOf(fromBytes(bytes)) }
  const call = format.read(body, { headers: new Headers(headers), find: () => GOLDEN_MODEL, recall: () => 'unknown' as const, sha256Hex })
  if (call instanceof Refusal) throw new Error(call.message)
  return { ...call.routing, body: call.body }
}

const user = (content: string): Json => ({ role: 'user', content })
const assistant = (content: string): Json => ({ role: 'assistant', content })

/** The same conversation in each format: its first turn, and its second. */
const TURNS: Record<string, (more: Json, headers?: Record<string, string>) => readonly string[]> = {
  messages: (more, headers) => {
    const json = { model: GOLDEN_MODEL.id, max_tokens: 10, system: 'S', tools: [{ name: 'f', input_schema: {} }], ...more }
    const marked = [{ type: 'text', text: 'one', cache_control: { type: 'ephemeral' } }]
    const first = { ...json, messages: [{ role: 'user', content: marked }] }
    const second = { ...json, messages: [{ role: 'user', content: [{ type: 'text', text: 'one' }] }, assistant('two'), user('three')] }
    return [first, second].map((turn) => read(messagesFormat, JSON.stringify(turn), headers).conversation)
  },
  chat: (more, headers) => {
    const json = { model: GOLDEN_MODEL.id, tools: [{ type: 'function', function: { name: 'f' } }], ...more }
    const first = { ...json, messages: [{ role: 'system', content: 'S' }, user('one')] }
    const second = { ...json, messages: [...first.messages, assistant('two'), user('three')] }
    return [first, second].map((turn) => read(chatFormat, JSON.stringify(turn), headers).conversation)
  },
  responses: (more, headers) => {
    const json = { model: GOLDEN_MODEL.id, instructions: 'S', ...more }
    const second = { ...json, input: [user('one'), assistant('two'), user('three')] }
    return [{ ...json, input: 'one' }, second].map((turn) => read(responsesFormat, JSON.stringify(turn), headers).conversation)
  },
}

test('all turns of a conversation are one, on every format, and another system prompt is another', () => {
  const other: Record<string, Json> = { messages: { system: 'T' }, chat: { tools: [] }, responses: { instructions: 'T' } }
  for (const [format, turns] of Object.entries(TURNS)) {
    const [first, second] = turns({})
    expect(second, format).toBe(first as string)
    expect(turns(other[format] ?? {})[0], format).not.toBe(first)
  }
})

test("the client's own id tells the conversation, where its format has one", () => {
  const session = { metadata: { user_id: 'user_a_account_b_session_c-1' } }
  for (const [format, turns] of Object.entries(TURNS)) {
    if (format !== 'responses') expect(turns(session, { 'x-session-id': 'h' }), format).toEqual(['id\nc-1', 'id\nc-1'])
    if (format !== 'messages') expect(turns({ prompt_cache_key: 'k' }, { 'x-session-id': 'h' }), format).toEqual(['id\nk', 'id\nk'])
    expect(turns({}, { 'x-session-id': 'h' }), format).toEqual(['id\nh', 'id\nh'])
  }
})

test("the model's name stands where it is said to, whatever was spliced around it", () => {
  const literal = JSON.stringify(GOLDEN_MODEL.upstreamModel)
  const nameAt = ({ body, modelAt }: { body: Uint8Array; modelAt: number }): string =>
    Buffer.from(body).toString('latin1', modelAt, modelAt + literal.length)
  const member = fc.constantFrom<readonly [string, unknown]>(
    ['model', GOLDEN_MODEL.id],
    ['model', 'é "model": 1'],
    ['max_tokens', 10],
    ['system', 'ünï "model":"x"'],
    ['tool_choice', null],
    ['tool_choice', { type: 'auto' }],
    ['temperature', 1],
  )
  fc.assert(
    fc.property(fc.array(member, { maxLength: 8 }), fc.nat(8), (members, at) => {
      const all = [...members, ['messages', [user('u')]], ['max_tokens', 10], ['tools', [{ name: 'f', input_schema: {} }]]] as const
      const text = [...all.slice(0, at), ['model', GOLDEN_MODEL.id], ...all.slice(at)]
        .map(([name, value]) => `${JSON.stringify(name)} : ${JSON.stringify(value)}`)
        .join(' ,\n')
      expect(nameAt(read(messagesFormat, `{${text}}`)), text).toBe(literal)
    }),
  )
  expect(nameAt(read(chatFormat, JSON.stringify({ model: GOLDEN_MODEL.id, messages: [user('é')] })))).toBe(literal)
  expect(nameAt(read(responsesFormat, JSON.stringify({ model: GOLDEN_MODEL.id, input: 'é' })))).toBe(literal)
})
