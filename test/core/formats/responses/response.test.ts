/** A complete native answer becomes a response object with every field that clients require. Rules: responses.md "Object", "Sealed reasoning". */

import { expect, test } from 'bun:test'
import OpenAI from 'openai'
import { responsesFormat } from '../../../../src/core/formats/responses/format.ts'
import { readMessage } from '../../../../src/core/native/message.ts'
import { GOLDEN_BOUNDS } from '../../../support/golden.ts'
import { finishedJson } from '../../../support/written.ts'
import { GOLDEN_CALL, readFine, STAMP } from './calls.ts'

const HEAD = { id: 'msg_01Whole', type: 'message', role: 'assistant', model: 'stella-2-20260301', stop_sequence: null }
const USAGE = { input_tokens: 10, output_tokens: 30, cache_creation_input_tokens: 4, cache_read_input_tokens: 6 }

type Answer = { id: string; status: string; output: Record<string, unknown>[]; usage: object; incomplete_details: object | null } & Record<
  string,
  unknown
>

function messageOf(json: object, replace: (text: string) => string = (text) => text) {
  const message = readMessage(
    Buffer.from(replace(JSON.stringify({ ...HEAD, content: [], stop_reason: 'end_turn', usage: USAGE, ...json }))),
  )
  if (message === undefined) throw new Error('not a message')
  return message
}

const answerOf = (json: object, replace?: (text: string) => string): Answer =>
  JSON.parse(Buffer.from(responsesFormat.respond(messageOf(json, replace), GOLDEN_CALL, STAMP)).toString('utf8'))

/** What the vendor's types and the Open Responses schema require. */
const REQUIRED =
  'id object created_at completed_at status incomplete_details model previous_response_id instructions output error tools tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty top_logprobs temperature reasoning user usage max_output_tokens max_tool_calls store background service_tier metadata safety_identifier prompt_cache_key access_programs'.split(
    ' ',
  )

test('the response object has every field that clients require, our model id, and the usage that is billed', () => {
  const answer = answerOf({ content: [{ type: 'text', text: 'Bonjour' }] })
  for (const field of REQUIRED) expect(answer[field], field).not.toBeUndefined()
  expect(answer).toMatchObject({
    id: 'resp_01Whole',
    object: 'response',
    created_at: 1_800_000_000,
    status: 'completed',
    model: 'stella-2',
    store: false,
    output: [
      {
        id: 'msg_01Whole_0',
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Bonjour', annotations: [], logprobs: [] }],
      },
    ],
  })
  expect(answer.usage).toEqual({
    input_tokens: 20,
    input_tokens_details: { cached_tokens: 6, cache_write_tokens: 4 },
    output_tokens: 30,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 50,
  })
})

test('usage names one-hour cache writes and thinking when there are any, and estimates what the upstream left out', () => {
  const split = {
    cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 3 },
    output_tokens_details: { thinking_tokens: 12 },
  }
  expect(answerOf({ usage: { ...USAGE, ...split } }).usage).toMatchObject({
    input_tokens_details: { cached_tokens: 6, cache_write_tokens: 4, cache_write_1h_tokens: 3 },
    output_tokens_details: { reasoning_tokens: 12 },
  })
  expect(answerOf({ usage: {}, content: [{ type: 'text', text: 'x'.repeat(40) }] }).usage).toMatchObject({
    input_tokens: GOLDEN_BOUNDS.bodyBytes / 4,
    output_tokens: 10,
  })
})

test('texts with nothing shown between them are one message; tools, thinking and what is hidden keep their places', () => {
  const { output } = answerOf({
    content: [
      { type: 'thinking', thinking: 'Hm', signature: 'sig' },
      { type: 'text', text: 'A' },
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
      { type: 'hologram' },
      { type: 'text', text: 'B' },
      { type: 'redacted_thinking', data: 'abc' },
      { type: 'tool_use', id: 'toolu_1', name: 'agents__spawn', input: {} },
      { type: 'tool_use', id: 'toolu_2', name: 'apply_patch', input: { input: 'a\n"b"' } },
    ],
    stop_reason: 'tool_use',
  })
  expect(output.map(({ id }) => id)).toEqual(['rs_01Whole_0', 'msg_01Whole_1', 'rs_01Whole_2', 'fc_01Whole_3', 'ctc_01Whole_4'])
  expect(output[0]).toMatchObject({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }] })
  expect(output[1]).toMatchObject({ content: [{ text: 'AB' }] })
  expect(output[2]).toMatchObject({ summary: [] })
  expect(output[3]).toMatchObject({ name: 'spawn', namespace: 'agents', call_id: 'toolu_1', arguments: '{}', status: 'completed' })
  expect(output[4]).toMatchObject({
    type: 'custom_tool_call',
    name: 'apply_patch',
    call_id: 'toolu_2',
    input: 'a\n"b"',
    status: 'completed',
  })
})

test('reasoning that comes back becomes the very block that the upstream signed', () => {
  const blocks = [
    { type: 'thinking', thinking: 'Hm, "é" 漢字 \u2028 \ud83d', signature: 'EqQB+/=' },
    { type: 'redacted_thinking', data: 'abc+/=' },
    { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } },
  ]
  const { output } = answerOf({ content: blocks, stop_reason: 'tool_use' })
  const input = [{ role: 'user', content: 'go' }, ...output, { type: 'function_call_output', call_id: 'toolu_1', output: 'ok' }]
  const native = JSON.parse(Buffer.from(readFine({ input }).body).toString('utf8'))
  expect(native.messages[1]).toEqual({ role: 'assistant', content: blocks })
})

test('each stop reason has its status; what was cut short is incomplete', () => {
  const reasons: readonly [string | null, string, string | null][] = [
    ['end_turn', 'completed', null],
    ['stop_sequence', 'completed', null],
    ['pause_turn', 'completed', null],
    ['tool_use', 'completed', null],
    ['compaction', 'completed', null],
    ['weird', 'completed', null],
    [null, 'completed', null],
    ['max_tokens', 'incomplete', 'max_output_tokens'],
    ['model_context_window_exceeded', 'incomplete', 'max_output_tokens'],
    ['refusal', 'incomplete', 'content_filter'],
  ]
  for (const [stop_reason, status, reason] of reasons) {
    const answer = answerOf({
      stop_reason,
      content: [
        { type: 'tool_use', id: 'a', name: 'f', input: {} },
        { type: 'text', text: 'x' },
      ],
    })
    expect(answer.status).toBe(status)
    expect(answer.incomplete_details).toEqual(reason === null ? null : { reason })
    expect(answer.output.map((item) => item['status'])).toEqual(['completed', status])
    expect(answerOf({ stop_reason }).output).toEqual([])
  }
})

test('tool inputs keep their digits', () => {
  const digits = (text: string): string => text.replace('"BIG"', '12345678901234567890').replace('"ONE"', '1.0')
  const { output } = answerOf({ content: [{ type: 'tool_use', id: 'a', name: 'f', input: { id: 'BIG', f: 'ONE' } }] }, digits)
  expect(output[0]?.['arguments']).toBe('{"id":12345678901234567890,"f":1.0}')
})

test('blocks with missing or wrong fields are still items that clients can read', () => {
  const content = [
    { type: 'thinking' },
    { type: 'text', text: 5 },
    { type: 'tool_use' },
    { type: 'tool_use', id: 7, name: null, input: 'x' },
    { type: 'redacted_thinking' },
  ]
  const { output } = answerOf({ id: undefined, content })
  expect(output.map(({ type }) => type)).toEqual(['reasoning', 'message', 'function_call', 'function_call', 'reasoning'])
  for (const item of output) expect(String(item['id']).length).toBeGreaterThan(20)
  expect(output.slice(2, 4).map((item) => [item['arguments'], String(item['call_id']).slice(0, 5)])).toEqual([
    ['{}', 'call_'],
    ['{}', 'call_'],
  ])
})

test('the vendor SDK reads the answer: output_text and the items', async () => {
  const body = responsesFormat.respond(
    messageOf({
      content: [
        { type: 'text', text: 'Bon' },
        { type: 'text', text: 'jour' },
      ],
    }),
    GOLDEN_CALL,
    STAMP,
  )
  const client = new OpenAI({
    apiKey: 'sk-test',
    baseURL: 'http://gateway.invalid/v1',
    fetch: () => Promise.resolve(new Response(Buffer.from(body), { headers: { 'content-type': 'application/json' } })),
  })
  const response = await client.responses.create({ model: 'stella-2', input: 'hi' })
  expect(response.output_text).toBe('Bonjour')
})

test('what is remembered of an answer is its input and its output, unless the client forbade it', () => {
  const message = messageOf({ content: [{ type: 'text', text: 'Bonjour' }] })
  const remembered = responsesFormat.finished?.(message, readFine({ input: 'hi' }), STAMP)
  expect(remembered).toMatchObject({ responseId: 'resp_01Whole', items: [{}, { id: 'msg_01Whole_0' }] })
  expect(finishedJson(remembered)).toMatchObject([
    { type: 'message', role: 'user', content: 'hi' },
    { id: 'msg_01Whole_0', type: 'message' },
  ])
  expect(responsesFormat.finished?.(message, readFine({ input: 'hi', store: false }), STAMP)).toBeUndefined()
})
