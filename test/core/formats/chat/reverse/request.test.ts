/**
 * Native requests as servers of the chat format are told them: everything that they can be told, nothing silently left out but hints, and a refusal that names the field
 * for the rest. Rules: openai.md "Native requests", "Thinking".
 */

import { describe, expect, test } from 'bun:test'
import type { Rejection } from '../../../../../src/core/catalog.ts'
import type { ChatDialect } from '../../../../../src/core/chat-dialect.ts'
import { chatBodiesOf } from '../../../../../src/core/formats/chat/reverse/request.ts'
import { Refusal } from '../../../../../src/core/refusal.ts'
import type { Json } from '../chat-call.ts'
import { CHAT_DIALECT, CHAT_MODEL } from './recordings.ts'

type Asked = Readonly<{ dialect?: Partial<ChatDialect>; rejects?: readonly Rejection[]; outputTokensMax?: number }>

const USER = { role: 'user', content: 'hi' }

function bodyText(fields: Json | string, { dialect = {}, rejects = [], outputTokensMax = 100 }: Asked = {}): string | Refusal {
  const model = { ...CHAT_MODEL, chat: [{ ...CHAT_DIALECT, ...dialect }], rejects: new Set(rejects) }
  const text =
    typeof fields === 'string' ? fields : JSON.stringify({ model: 'stella-2-20260301', max_tokens: 100, messages: [USER], ...fields })
  const bodies = chatBodiesOf({ body: Buffer.from(text), model, outputTokensMax })
  return bodies instanceof Refusal ? bodies : Buffer.from(bodies[0]?.body ?? []).toString('utf8')
}

function chat(fields: Json, asked?: Asked): Json {
  const text = bodyText(fields, asked)
  if (text instanceof Refusal) throw new Error(text.message)
  return JSON.parse(text)
}

function refused(fields: Json, asked?: Asked): string {
  const refusal = bodyText(fields, asked)
  if (!(refusal instanceof Refusal)) throw new Error(`accepted: ${refusal}`)
  expect([refusal.row.status, refusal.row.type]).toEqual([400, 'invalid_request_error'])
  return refusal.message
}

const says = (...content: readonly Json[]): Json => ({ messages: [{ role: 'user', content }] })
const PNG = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }

describe('what is told', () => {
  test('the model, what is held for the answer, and the conversation', () => {
    expect(chat({ system: 'Be brief.', temperature: 0.3, top_p: 0.9, stop_sequences: ['END'] })).toEqual({
      model: 'stella-2-20260301',
      max_tokens: 100,
      temperature: 0.3,
      top_p: 0.9,
      stop: ['END'],
      messages: [{ role: 'system', content: 'Be brief.' }, USER],
    })
  })

  test('the name of the model stands where the pool will look for it', () => {
    const bodies = chatBodiesOf({ body: Buffer.from('{"messages":[]}'), model: CHAT_MODEL, outputTokensMax: 1 })
    if (bodies instanceof Refusal) throw new Error(bodies.message)
    const [{ body, modelAt } = { body: new Uint8Array(), modelAt: 0 }] = bodies
    expect(Buffer.from(body.subarray(modelAt)).toString()).toStartWith(`"${CHAT_MODEL.upstreamModel}"`)
  })

  test('the cap in the field that the server has for it', () => {
    expect(chat({}, { dialect: { maxTokensField: 'max_completion_tokens' }, outputTokensMax: 7 })).toMatchObject({
      max_completion_tokens: 7,
    })
    expect(chat({}, { dialect: { maxTokensField: 'max_completion_tokens' } })).not.toHaveProperty('max_tokens')
  })

  test('that a stream has its usage, unless the server cannot be asked', () => {
    expect(chat({ stream: true })).toMatchObject({ stream: true, stream_options: { include_usage: true } })
    expect(chat({ stream: true }, { dialect: { streamUsage: false } })).not.toHaveProperty('stream_options')
    expect(chat({})).not.toHaveProperty('stream_options')
  })

  test('system blocks as one text, and system messages where they stand', () => {
    const system = [
      { type: 'text', text: 'A', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'B' },
    ]
    expect(chat({ system, messages: [USER, { role: 'system', content: 'C' }] })['messages']).toEqual([
      { role: 'system', content: 'A\nB' },
      USER,
      { role: 'system', content: 'C' },
    ])
  })

  test('a system prompt as the beginning of the first turn, for a model without one', () => {
    expect(chat({ system: 'S' }, { rejects: ['system'] })['messages']).toEqual([{ role: 'user', content: 'S\nhi' }])
    expect(chat({ system: 'S', ...says({ type: 'text', text: 'see' }, PNG) }, { rejects: ['system'] })['messages'][0].content[0]).toEqual({
      type: 'text',
      text: 'S',
    })
  })

  test('images, documents that are text, and search results', () => {
    const link = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }
    expect(chat(says({ type: 'text', text: 'see' }, PNG, link))['messages']).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'see' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
        ],
      },
    ])
    const text = { type: 'document', title: 'T', source: { type: 'text', media_type: 'text/plain', data: 'tides' } }
    const content = { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'moon' }] } }
    const found = { type: 'search_result', source: 'https://a', title: 'A', content: [{ type: 'text', text: 'found' }] }
    expect(chat(says(text, content, found))['messages']).toEqual([{ role: 'user', content: 'T\ntides\nmoon\nA\nhttps://a\nfound' }])
  })

  test('tools, the choice among them, and that they are called one at a time', () => {
    const tools = [{ name: 'f', description: 'd', input_schema: { type: 'object' }, cache_control: { type: 'ephemeral' }, strict: true }]
    expect(chat({ tools, tool_choice: { type: 'any', disable_parallel_tool_use: true } })).toMatchObject({
      tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters: { type: 'object' }, strict: true } }],
      tool_choice: 'required',
      parallel_tool_calls: false,
    })
    expect(chat({ tools, tool_choice: { type: 'tool', name: 'f' } })['tool_choice']).toEqual({ type: 'function', function: { name: 'f' } })
    expect(chat({ tools, tool_choice: { type: 'none' } })['tool_choice']).toBe('none')
    expect(chat({ tools, tool_choice: { type: 'auto' } })['tool_choice']).toBe('auto')
    expect(chat({ tools: [], tool_choice: { type: 'auto' } })).not.toHaveProperty('tool_choice')
    const choice = { type: 'any', disable_parallel_tool_use: true }
    expect(chat({ tools, tool_choice: choice }, { rejects: ['parallel_tools', 'tool_choice'] })).not.toHaveProperty('parallel_tool_calls')
    expect(chat({ tools, tool_choice: choice }, { rejects: ['tool_choice'] })).not.toHaveProperty('tool_choice')
  })

  test('calls with the digits that they had, and a result for each right behind them', () => {
    const call = (id: string, input: string): string => `{"type":"tool_use","id":"${id}","name":"f","input":${input}}`
    const assistant = `{"role":"assistant","content":[{"type":"text","text":"I look."},${call('a', '{"n":12345678901234567890}')},${call('b', '{}')}]}`
    const results = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"},{"type":"tool_result","tool_use_id":"b","is_error":true,"content":[{"type":"text","text":"no"},${JSON.stringify(PNG)}]},{"type":"text","text":"and?"}]}`
    const text = bodyText(`{"model":"m","max_tokens":1,"messages":[${assistant},${results}]}`)
    if (text instanceof Refusal) throw new Error(text.message)
    expect(text).toContain('{\\"n\\":12345678901234567890}')
    const [said, first, second, more] = JSON.parse(text).messages
    expect(said).toMatchObject({
      role: 'assistant',
      content: 'I look.',
      tool_calls: [
        { id: 'a', type: 'function' },
        { id: 'b', function: { name: 'f', arguments: '{}' } },
      ],
    })
    expect([first, second]).toEqual([
      { role: 'tool', tool_call_id: 'a', content: '1' },
      { role: 'tool', tool_call_id: 'b', content: 'Error: no' },
    ])
    expect(more).toEqual({
      role: 'user',
      content: [
        { type: 'text', text: 'Images of the result of b:' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
        { type: 'text', text: 'and?' },
      ],
    })
  })

  test('a call and its result under the id that the server gave', () => {
    const id = 'id64_ZnVuY3Rpb25zLmY6MA'
    const called = { role: 'assistant', content: [{ type: 'tool_use', id, name: 'f', input: {} }] }
    const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: [PNG] }] }
    expect(chat({ messages: [USER, called, result] })['messages']).toMatchObject([
      {},
      { tool_calls: [{ id: 'functions.f:0' }] },
      { role: 'tool', tool_call_id: 'functions.f:0' },
      { content: [{ text: 'Images of the result of functions.f:0:' }, {}] },
    ])
  })

  test('how much is to be thought', () => {
    expect(chat({ thinking: { type: 'enabled', budget_tokens: 2_048 } })['reasoning_effort']).toBe('low')
    expect(chat({ thinking: { type: 'enabled', budget_tokens: 10_000 } })['reasoning_effort']).toBe('medium')
    expect(chat({ thinking: { type: 'enabled', budget_tokens: 30_000 } })['reasoning_effort']).toBe('high')
    expect(chat({ thinking: { type: 'adaptive' }, output_config: { effort: 'max' } })['reasoning_effort']).toBe('xhigh')
    expect(chat({ output_config: { effort: 'max' } }, { rejects: ['xhigh_effort'] })['reasoning_effort']).toBe('high')
    expect(chat({ output_config: { effort: 'low' } }, { rejects: ['effort'] })).not.toHaveProperty('reasoning_effort')
    expect(chat({ thinking: { type: 'disabled' } })).not.toHaveProperty('reasoning_effort')
  })

  test('the schema of the answer', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } }
    const expected = { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } }
    expect(chat({ output_config: { format: { type: 'json_schema', schema } } })['response_format']).toEqual(expected)
    expect(chat({ output_format: { type: 'json_schema', schema } })['response_format']).toEqual(expected)
    const both = { output_config: { format: { type: 'json_schema', schema } }, output_format: { type: 'json_schema', schema: {} } }
    expect(chat(both)['response_format']).toEqual(expected)
    for (const fields of [{ output_config: { effort: 'low', format: null } }, { output_format: null }])
      expect(chat(fields)).not.toHaveProperty('response_format')
    expect(refused({ output_config: { format: { type: 'grammar' } } })).toStartWith('output_config.format.type: ')
    expect(refused({ output_format: {} })).toStartWith('output_format.type: ')
  })

  test('the schema of the answer as a sentence, where the server takes none', () => {
    const schema = { type: 'object', title: 'Cat' }
    const dialect = { dropFields: ['response_format'] }
    const asked = { output_config: { format: { type: 'json_schema', schema } } }
    const hint = expect.stringContaining(JSON.stringify(schema))
    for (const [system, said] of [
      [undefined, /^Respond with/],
      ['Be brief.', /^Be brief\.\nRespond with/],
      [
        [
          { type: 'text', text: 'A' },
          { type: 'text', text: 'B' },
        ],
        /^A\nB\nRespond with/,
      ],
    ] as const) {
      const told = chat({ ...asked, system }, { dialect })
      expect(told).not.toHaveProperty('response_format')
      expect(told['messages']).toEqual([{ role: 'system', content: hint }, USER])
      expect(told['messages'][0].content).toMatch(said)
    }
  })

  test('what the settings of the upstream pass, without what they drop', () => {
    const dialect = { passFields: ['top_k', 'min_p'], dropFields: ['temperature', 'weird'] }
    expect(chat({ top_k: 5, min_p: 0.1, temperature: 1, weird: {} }, { dialect })).toEqual({
      model: 'stella-2-20260301',
      max_tokens: 100,
      top_k: 5,
      min_p: 0.1,
      messages: [USER],
    })
  })

  test('no sampling to a model that refuses it', () => {
    expect(chat({ temperature: 0.5, top_k: 3 }, { rejects: ['sampling'] })).not.toHaveProperty('temperature')
  })
})

describe('reasoning of an earlier answer', () => {
  const turn = (signature: string): Json => ({
    messages: [
      USER,
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm', signature },
          { type: 'text', text: 'Yes' },
        ],
      },
      USER,
    ],
  })

  test('goes back in the field that it came in, or in that of the setting', () => {
    expect(chat(turn('tollgate.reasoning_content'))['messages'][1]).toEqual({ role: 'assistant', content: 'Yes', reasoning_content: 'Hm' })
    expect(chat(turn('tollgate.reasoning'))['messages'][1]).toEqual({ role: 'assistant', content: 'Yes', reasoning: 'Hm' })
    expect(chat(turn('tollgate.reasoning'), { dialect: { reasoning: 'reasoning_content' } })['messages'][1]).toHaveProperty(
      'reasoning_content',
      'Hm',
    )
  })

  test('stays away where the server wants none, and where another vendor signed it', () => {
    expect(chat(turn('tollgate.reasoning'), { dialect: { reasoning: 'none' } })['messages'][1]).toEqual({
      role: 'assistant',
      content: 'Yes',
    })
    expect(chat(turn('EqQBCkYIAR+/='))['messages'][1]).toEqual({ role: 'assistant', content: 'Yes' })
    const named = { dialect: { reasoning: 'reasoning_content' } } as const
    expect(chat(turn('EqQBCkYIAR+/='), named)['messages'][1]).toEqual({ role: 'assistant', content: 'Yes' })
    const redacted = { messages: [USER, { role: 'assistant', content: [{ type: 'redacted_thinking', data: 'x' }] }, USER] }
    expect(chat(redacted)['messages']).toEqual([USER, USER])
  })
})

test('hints are left out: the answer is the same without them', () => {
  const hints = {
    metadata: { user_id: 'u' },
    cache_control: { type: 'ephemeral' },
    context_management: { edits: [] },
    service_tier: 'auto',
    speed: 'standard',
    fallbacks: [],
  }
  expect(Object.keys(chat(hints))).toEqual(['model', 'max_tokens', 'messages'])
})

test.each<[string, Json, Asked?]>([
  ['mcp_servers', { mcp_servers: [{ url: 'https://a' }] }],
  ['speculation', { speculation: 1 }],
  ['top_k', { top_k: 5 }],
  ['max_tokens', {}, { outputTokensMax: 0 }],
  ['tools.0.type', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
  ['tools.0.allowed_callers', { tools: [{ name: 'f', input_schema: {}, allowed_callers: ['x'] }] }],
  ['tools', { tools: [{ name: 'f', input_schema: {} }] }, { rejects: ['tools'] }],
  ['messages.0.content.0', says({ type: 'server_tool_use', id: 's', name: 'web_search', input: {} })],
  ['messages.0.content.1', says({ type: 'text', text: 'a' }, PNG), { rejects: ['images'] }],
  ['messages.0.content.0.source', says({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' } })],
  ['messages.0.content.0', says({ type: 'document', source: { type: 'text', data: 'a' } }), { rejects: ['documents'] }],
  ['messages.0.content.0.content.0', says({ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'hologram' }] })],
])('what such servers cannot be told is refused by its name: %s', (field, fields, asked = {}) => {
  expect(refused(fields, asked)).toStartWith(`${field}: `)
})
