/** A complete native message to a chat completion, case by case. Rules: chat.md "Answer", "Usage". */

import { describe, expect, test } from 'bun:test'
import type { Call } from '../../../../src/core/format.ts'
import { chatFormat } from '../../../../src/core/formats/chat/format.ts'
import type { ChatEcho } from '../../../../src/core/formats/chat/wire.ts'
import { readMessage } from '../../../../src/core/native/message.ts'
import { call, type Json, STAMP } from './chat-call.ts'

const text = (value: string): Json => ({ type: 'text', text: value })
const use = (input: unknown, name = 'f', id = 'toolu_1'): Json => ({ type: 'tool_use', id, name, input })

function respond(native: string | Json, forCall: Call<ChatEcho> = call()): { body: Json; raw: string } {
  const json =
    typeof native === 'string'
      ? native
      : JSON.stringify({
          id: 'msg_01X',
          type: 'message',
          role: 'assistant',
          model: 'stella-2-20260301',
          content: [text('Hi')],
          stop_reason: 'end_turn',
          stop_sequence: null,
          usage: { input_tokens: 10, output_tokens: 5 },
          ...native,
        })
  const message = readMessage(Buffer.from(json))
  if (message === undefined) throw new Error('not a native message')
  const raw = Buffer.from(chatFormat.respond(message, forCall, STAMP)).toString('utf8')
  return { body: JSON.parse(raw), raw }
}

const choice = (native: Json, echo: Partial<ChatEcho> = {}): Json => respond(native, call(echo)).body['choices'][0]

describe('a completion', () => {
  test('is the documented body, with our model id', () => {
    expect(respond({}).raw).toBe(
      '{"id":"chatcmpl-01X","object":"chat.completion","created":1764000000,"model":"stella-2","choices":[{"index":0,' +
        '"message":{"role":"assistant","content":"Hi","refusal":null},"logprobs":null,"finish_reason":"stop"}],' +
        '"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},' +
        '"completion_tokens_details":{"reasoning_tokens":0},"cache_read_input_tokens":0,"cache_creation_input_tokens":0}}',
    )
    expect(respond({ id: undefined }).body['id']).toBe('chatcmpl-0190')
  })

  test('joins all texts, in order, and tells reasoning and calls apart', () => {
    const thinking = { type: 'thinking', thinking: 'hm', signature: 'sig' }
    const { message, finish_reason } = choice({ content: [thinking, text('A'), use({ x: 1 }), text('B')], stop_reason: 'tool_use' })
    expect(message).toEqual({
      role: 'assistant',
      content: 'AB',
      refusal: null,
      reasoning_content: 'hm',
      thinking_blocks: [thinking],
      tool_calls: [{ id: 'toolu_1', type: 'function', function: { name: 'f', arguments: '{"x":1}' } }],
    })
    expect(finish_reason).toBe('tool_calls')
    expect(choice({ content: [thinking, text('A'), use({ x: 1 }), text('B')] })['finish_reason']).toBe('stop')
  })

  test('content is a string and arguments are never empty', () => {
    for (const input of [{}, null, undefined]) {
      const { message } = choice({ content: [use(input)], stop_reason: 'tool_use' })
      expect([message.content, message.tool_calls[0].function.arguments]).toEqual(['', '{}'])
    }
    expect(choice({ content: [] })).toMatchObject({ message: { content: '' }, finish_reason: 'stop' })
  })

  test('a refusal is a content_filter and leaves message.refusal null', () => {
    const refusal = { content: [], stop_reason: 'refusal', stop_details: { category: 'x' } }
    expect(choice(refusal)).toMatchObject({ message: { content: '', refusal: null }, finish_reason: 'content_filter' })
  })

  test('every stop reason has a finish reason, and none passes unknown', () => {
    const reasons: [unknown, string, string][] = [
      ['end_turn', 'stop', 'stop'],
      ['stop_sequence', 'stop', 'stop'],
      ['pause_turn', 'stop', 'stop'],
      ['compaction', 'stop', 'stop'],
      ['tool_use', 'tool_calls', 'tool_calls'],
      ['max_tokens', 'length', 'length'],
      ['model_context_window_exceeded', 'length', 'length'],
      ['refusal', 'content_filter', 'content_filter'],
      [null, 'stop', 'tool_calls'],
      ['weird', 'stop', 'tool_calls'],
    ]
    for (const [stop_reason, withoutCall, withCall] of reasons) {
      expect(choice({ stop_reason })['finish_reason']).toBe(withoutCall)
      expect(choice({ stop_reason, content: [use({})] })['finish_reason']).toBe(withCall)
    }
    expect(choice({ stop_reason: 'stop_sequence', stop_sequence: 'END' })['message'].refusal).toBeNull()
  })

  test('usage counts cache tokens in the prompt, and only whole numbers', () => {
    const usage = (native: Json): Json => respond({ usage: native }).body['usage']
    expect(usage({ input_tokens: 10, cache_creation_input_tokens: 4, cache_read_input_tokens: 6, output_tokens: 30 })).toEqual({
      prompt_tokens: 20,
      completion_tokens: 30,
      total_tokens: 50,
      prompt_tokens_details: { cached_tokens: 6, cache_write_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 0 },
      cache_read_input_tokens: 6,
      cache_creation_input_tokens: 4,
    })
    const cache_creation = { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 3 }
    const split = usage({ input_tokens: 10, cache_creation_input_tokens: 4, cache_creation, output_tokens: 3 })
    expect(split['prompt_tokens_details']).toEqual({ cached_tokens: 0, cache_write_tokens: 4, cache_write_1h_tokens: 3 })
    const nulls = { input_tokens: 1, output_tokens: 2, cache_creation_input_tokens: null, cache_read_input_tokens: null }
    expect(usage({ ...nulls, output_tokens_details: { thinking_tokens: 1 } })).toMatchObject({
      prompt_tokens: 1,
      total_tokens: 3,
      completion_tokens_details: { reasoning_tokens: 1 },
    })
  })

  test('blocks that chat has no field for are left out', () => {
    const content = [
      { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'x' } },
      { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
      { type: 'hologram', text: 'no' },
      text('yes'),
    ]
    expect(choice({ content })['message']).toEqual({ role: 'assistant', content: 'yes', refusal: null })
  })

  test('tool input keeps its numbers letter by letter', () => {
    const native =
      '{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"id":12345678901234567890,"f":1.0}}],' +
      '"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}'
    expect(respond(native).body['choices'][0].message.tool_calls[0].function.arguments).toBe('{"id":12345678901234567890,"f":1.0}')
  })

  test('legacy functions get one function_call, custom tools their free text', () => {
    const content = [use({ x: 1 }), use({}, 'g', 'toolu_2')]
    expect(choice({ content, stop_reason: 'tool_use' }, { isLegacy: true })).toEqual({
      index: 0,
      message: { role: 'assistant', content: '', refusal: null, function_call: { name: 'f', arguments: '{"x":1}' } },
      logprobs: null,
      finish_reason: 'function_call',
    })
    const customTools = new Set(['f'])
    const custom = choice({ content: [use({ input: 'free' }), use({ x: 1 })], stop_reason: 'tool_use' }, { customTools })
    expect(custom['message'].tool_calls).toEqual([
      { id: 'toolu_1', type: 'custom', custom: { name: 'f', input: 'free' } },
      { id: 'toolu_1', type: 'custom', custom: { name: 'f', input: '{"x":1}' } },
    ])
  })
})
