/** A native stream to chat chunks, case by case; whole streams are in streams.test.ts. Rules: chat.md "Chunks", "End", "Errors in a stream". */

import { describe, expect, spyOn, test } from 'bun:test'
import { toBytes } from '../../../../src/core/bytes/byte-string.ts'
import { chatFormat } from '../../../../src/core/formats/chat/format.ts'
import type { ChatEcho } from '../../../../src/core/formats/chat/wire.ts'
import { readMessage } from '../../../../src/core/native/message.ts'
import { streamOfMessage } from '../../../../src/core/native/stream-of-message.ts'
import { REFUSALS, Refusal } from '../../../../src/core/refusal.ts'
import { byteByByte, whole } from '../../../support/chunks.ts'
import { inOnePiece } from '../../../support/written.ts'
import { bytes, call, chunksOf, dataOf, ev, type Json, STAMP, type Streamed, stream } from './chat-call.ts'

const start = (usage: Json = { input_tokens: 10, output_tokens: 1 }): string =>
  ev('message_start', { message: { id: 'msg_01GE2', type: 'message', role: 'assistant', model: 'up', content: [], usage } })
const open = (index: number, content_block: Json): string => ev('content_block_start', { index, content_block })
const delta = (index: number, fields: Json): string => ev('content_block_delta', { index, delta: fields })
const text = (value: string, index = 0): string => delta(index, { type: 'text_delta', text: value })
const json = (value: string, index = 0): string => delta(index, { type: 'input_json_delta', partial_json: value })
const close = (index = 0): string => ev('content_block_stop', { index })
const tool = (name: string, input: Json = {}): Json => ({ type: 'tool_use', id: `toolu_${name}`, name, input })
const stopped = (reason: string | null = 'end_turn', usage: Json = { output_tokens: 5 }): string =>
  ev('message_delta', { delta: { stop_reason: reason, stop_sequence: null }, usage })
const done = ev('message_stop')

/** The stream of these frames; the same byte by byte. */
function streamed(frames: readonly string[], echo: Partial<ChatEcho> = {}): Streamed {
  const native = bytes(frames.join(''))
  const answer = stream(whole(native), call(echo))
  expect(stream(byteByByte(native), call(echo))).toEqual(answer)
  return answer
}
const deltas = (answer: Streamed): Json[] =>
  chunksOf(answer.text).flatMap(({ choices }) => (choices[0] === undefined ? [] : [choices[0].delta]))
const content = (answer: Streamed): string =>
  deltas(answer)
    .map((fields) => fields['content'] ?? '')
    .join('')
const argumentsOf = (answer: Streamed, index: number): string =>
  deltas(answer)
    .flatMap((fields) => fields['tool_calls'] ?? [])
    .filter((entry: Json) => entry['index'] === index)
    .map((entry: Json) => entry['function']?.arguments ?? entry['custom']?.input)
    .join('')
const reasons = (answer: Streamed): unknown[] =>
  chunksOf(answer.text).flatMap(({ choices }) => choices.map((c: Json) => c['finish_reason']))

describe('the shape of a stream', () => {
  const plain = [start(), open(0, { type: 'text', text: '' }), text('Hel'), text('lo'), close(), stopped(), done]

  test('the documented bytes; only the end waits for the settle', () => {
    const { now, last } = streamed(plain)
    const head =
      'data: {"id":"chatcmpl-01GE2","object":"chat.completion.chunk","created":1764000000,"model":"stella-2","choices":[{"index":0,"delta":'
    const tail = ',"logprobs":null,"finish_reason":null}]}\n\n'
    expect(now).toBe(`${head}{"role":"assistant","content":""}${tail}${head}{"content":"Hel"}${tail}${head}{"content":"lo"}${tail}`)
    expect(last).toBe(
      `${head}{},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,` +
        '"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"completion_tokens_details":{"reasoning_tokens":0},' +
        '"cache_read_input_tokens":0,"cache_creation_input_tokens":0}}\n\ndata: [DONE]\n\n',
    )
  })

  test('include_usage: one chunk without choices, null elsewhere', () => {
    const { now, last } = streamed(plain, { includesUsageChunk: true })
    expect(chunksOf(now).map((chunk) => chunk['usage'])).toEqual([null, null, null])
    const [finish, usage, end] = dataOf(last)
    expect(JSON.parse(finish ?? '')).toMatchObject({ choices: [{ finish_reason: 'stop' }], usage: null })
    expect(JSON.parse(usage ?? '')).toMatchObject({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } })
    expect(end).toBe('[DONE]')
  })

  test('role and id stand once, finish_reason is null until the end', () => {
    const answer = streamed(plain)
    expect(deltas(answer).filter((fields) => 'role' in fields)).toHaveLength(1)
    expect(reasons(answer)).toEqual([null, null, null, 'stop'])
  })

  test('all output of one chunk leaves in one piece, and nothing where there is nothing to say', () => {
    const transcoder = chatFormat.transcoder(call(), STAMP)
    expect(transcoder.push(bytes(ev('ping')))).toEqual({})
    const pushed = transcoder.push(bytes(plain.slice(0, 5).join('')))
    expect(chunksOf(inOnePiece(pushed.now).toString())).toHaveLength(3)
    expect(Object.keys(pushed)).toEqual(['now'])
    expect(Object.keys(transcoder.push(bytes(stopped() + done)))).toEqual(['last'])
  })

  test('the heartbeat is a comment and may stand anywhere', () => {
    const transcoder = chatFormat.transcoder(call(), STAMP)
    transcoder.push(bytes(plain.join('').slice(0, 40)))
    expect(Buffer.from(transcoder.heartbeat()).toString()).toBe(': keep-alive\n\n')
  })

  test('without message_start the role chunk still comes first, with the id of the request', () => {
    const answer = streamed([text('Hi'), stopped(), done])
    expect(deltas(answer)).toEqual([{ role: 'assistant', content: '' }, { content: 'Hi' }, {}])
    expect(new Set(chunksOf(answer.text).map(({ id }) => id))).toEqual(new Set(['chatcmpl-0190']))
    expect(deltas(streamed([stopped(), done]))).toEqual([{ role: 'assistant', content: '' }, {}])
    const blocks = [{ type: 'text', text: 'Hi' }, { type: 'redacted_thinking', data: 'x' }, tool('f'), { type: 'thinking', thinking: 'hm' }]
    for (const block of blocks)
      expect(deltas(streamed([open(0, block), close(), stopped(), done]))[0]).toEqual({ role: 'assistant', content: '' })
  })
})

describe('tool calls', () => {
  const twoTools = [
    start(),
    open(0, tool('f')),
    json('{"a"'),
    json(':1}'),
    close(0),
    open(1, tool('g')),
    json('{}', 1),
    close(1),
    stopped('tool_use'),
    done,
  ]

  test('calls are counted from 0, head first, without arguments', () => {
    const answer = streamed(twoTools)
    expect(deltas(answer)).toEqual([
      { role: 'assistant', content: '' },
      { tool_calls: [{ index: 0, id: 'toolu_f', type: 'function', function: { name: 'f', arguments: '' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] },
      { tool_calls: [{ index: 0, function: { arguments: ':1}' } }] },
      { tool_calls: [{ index: 1, id: 'toolu_g', type: 'function', function: { name: 'g', arguments: '' } }] },
      { tool_calls: [{ index: 1, function: { arguments: '{}' } }] },
      {},
    ])
    expect(reasons(answer).at(-1)).toBe('tool_calls')
  })

  test('whatever stands before the calls', () => {
    const thinking = { type: 'thinking', thinking: '', signature: '' }
    const frames = [
      open(0, thinking),
      close(0),
      open(1, { type: 'text', text: '' }),
      close(1),
      open(2, tool('f')),
      close(2),
      open(3, tool('g')),
      close(3),
    ]
    const answer = streamed([start(), ...frames, stopped('tool_use'), done])
    expect([argumentsOf(answer, 0), argumentsOf(answer, 1)]).toEqual(['{}', '{}'])
  })

  test("the upstream's own tools and unknown blocks leak nothing", () => {
    const own = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
    const answer = streamed([
      start(),
      open(0, own),
      json('{"q":1}'),
      close(0),
      open(1, tool('f')),
      json('{}', 1),
      close(1),
      json('{"x":1}', 9),
      stopped('tool_use'),
      done,
    ])
    expect([argumentsOf(answer, 0), argumentsOf(answer, 1), content(answer)]).toEqual(['{}', '', ''])
  })

  test('arguments are {} when there are none, whole when they come with the block', () => {
    const call = (...frames: string[]): string => argumentsOf(streamed([start(), ...frames, stopped('tool_use'), done]), 0)
    expect(call(open(0, tool('f')), json(''), close())).toBe('{}')
    expect(call(open(0, tool('f')), close())).toBe('{}')
    expect(call(open(0, tool('f')))).toBe('{}')
    expect(call(open(0, tool('f', { a: 1 })), close())).toBe('{"a":1}')
    const exact = open(0, tool('f', { a: 7 })).replace('7', '12345678901234567890')
    expect(call(exact, close())).toBe('{"a":12345678901234567890}')
    expect(call(open(0, tool('f', { a: 1 })), json('{"b":2}'), close())).toBe('{"b":2}')
  })

  test('cut by max_tokens: partial arguments; no stop reason: tool_calls', () => {
    const cut = streamed([start(), open(0, tool('f')), json('{"a":'), close(), stopped('max_tokens'), done])
    expect([argumentsOf(cut, 0), reasons(cut).at(-1)]).toEqual(['{"a":', 'length'])
    expect(reasons(streamed([start(), open(0, tool('f')), close(), stopped(null), done])).at(-1)).toBe('tool_calls')
  })

  test('legacy functions: the first call only', () => {
    const answer = streamed(twoTools, { isLegacy: true })
    expect(deltas(answer)).toEqual([
      { role: 'assistant', content: '' },
      { function_call: { name: 'f', arguments: '' } },
      { function_call: { arguments: '{"a"' } },
      { function_call: { arguments: ':1}' } },
      {},
    ])
    expect(reasons(answer).at(-1)).toBe('function_call')
  })

  test('custom tools: the free text, decoded, once', () => {
    const frames = [start(), open(0, tool('f')), json('{"input":"a\\n'), json('\\u00e9\\"b"}'), close(), stopped('tool_use'), done]
    expect(deltas(streamed(frames, { customTools: new Set(['f']) })).slice(1)).toEqual([
      { tool_calls: [{ index: 0, id: 'toolu_f', type: 'custom', custom: { name: 'f', input: '' } }] },
      { tool_calls: [{ index: 0, custom: { input: 'a\né"b' } }] },
      {},
    ])
    const cut = streamed([start(), open(0, tool('f')), json('{"input":"a'), stopped('max_tokens'), done], { customTools: new Set(['f']) })
    expect(argumentsOf(cut, 0)).toBe('{"input":"a')
  })
})

describe('text and thinking', () => {
  test('text that comes with its block', () => {
    expect(content(streamed([start(), open(0, { type: 'text', text: 'He' }), text('llo'), close(), stopped(), done]))).toBe('Hello')
  })

  test('thinking is reasoning_content; a signed block can be sent back, a signature is never text', () => {
    const thinking = (value: string): string => delta(0, { type: 'thinking_delta', thinking: value })
    const block = open(0, { type: 'thinking', thinking: '', signature: '' })
    const signed = [block, thinking('h\n'), thinking('"m'), delta(0, { type: 'signature_delta', signature: 'si+g' }), close()]
    expect(deltas(streamed([start(), ...signed, stopped(), done])).slice(1)).toEqual([
      { reasoning_content: 'h\n' },
      { reasoning_content: '"m' },
      { thinking_blocks: [{ type: 'thinking', thinking: 'h\n"m', signature: 'si+g' }] },
      {},
    ])
    expect(deltas(streamed([start(), block, thinking('hm'), close(), stopped(), done]))).toHaveLength(3)
    const redacted = open(0, { type: 'redacted_thinking', data: 'RW5j' })
    expect(deltas(streamed([start(), redacted, close(), stopped(), done]))[1]).toEqual({
      thinking_blocks: [{ type: 'redacted_thinking', data: 'RW5j' }],
    })
  })

  test('unknown events and deltas say nothing', () => {
    const odd = [
      ev('comet', { x: 1 }),
      delta(0, { type: 'citations_delta', citation: {} }),
      delta(0, { type: 'hologram', text: 'no' }),
      ev('ping'),
    ]
    const answer = streamed([
      ...odd,
      start(),
      open(0, { type: 'text', text: '' }),
      ...odd,
      text('a'),
      ...odd,
      close(),
      stopped(),
      ...odd,
      done,
    ])
    expect(deltas(answer)).toEqual([{ role: 'assistant', content: '' }, { content: 'a' }, {}])
  })

  test('any JSON spelling of a delta gives the same content', () => {
    const spelled = [
      'data: {"index":0,"delta":{"text":"p","type":"text_delta"},"type":"content_block_delta"}\n\n',
      'data: { "type" : "content_block_delta", "index" : 0, "delta" : { "type" : "text_delta", "text" : "q" } }\n\n',
      'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\/\\u00e9\\u2028\\ud83d\\ude00\\u0000"}}\n\n',
      'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\"text\\":\\"x\\"\\\\\\\\\\""}}\n\n',
    ]
    expect(content(streamed([start(), ...spelled, stopped(), done]))).toBe('pq/é\u2028😀\u0000"text":"x"\\\\"')
  })

  test('a delta of five megabytes arrives whole', () => {
    const long = 'harbour '.repeat(5 * 131_072)
    const answer = stream(whole(bytes([start(), text(long), stopped(), done].join(''))))
    expect(content(answer)).toBe(long)
  })
})

describe('usage and the end', () => {
  const usage = (...frames: string[]): Json => chunksOf(streamed([...frames, done]).last)[0]?.['usage']

  test('counters are totals: the newest wins, 0 does not', () => {
    const both = streamed([start(), open(0, tool('f')), close(), stopped(null), stopped('tool_use', { output_tokens: 9 }), done])
    expect([reasons(both).filter(Boolean), chunksOf(both.last)[0]?.['usage'].completion_tokens]).toEqual([['tool_calls'], 9])
    expect(
      usage(start({ input_tokens: 43, output_tokens: 1 }), stopped('end_turn', { input_tokens: 61, output_tokens: 2 }))['prompt_tokens'],
    ).toBe(61)
    const cached = usage(start({ input_tokens: 100, cache_read_input_tokens: 50, output_tokens: 1 }), stopped())
    expect([cached['prompt_tokens'], cached['prompt_tokens_details'].cached_tokens]).toEqual([150, 50])
    expect(
      usage(start({ input_tokens: 100, output_tokens: 1 }), stopped('end_turn', { input_tokens: 0, output_tokens: 2 }))['prompt_tokens'],
    ).toBe(100)
  })

  test('an error after text: the standard body, no finish, no [DONE], nothing more', () => {
    const error = ev('error', { error: { type: 'overloaded_error', message: 'Overloaded' } })
    const { now, last, fault } = streamed([start(), text('a'), error, text('b'), done])
    expect([chunksOf(now).length, fault?.name]).toEqual([2, 'upstreamBusy'])
    expect(last).toBe(
      'data: {"error":{"type":"server_error","message":"Temporary provider issue on our side, retry in a minute"},"type":"error"}\nevent: error\n\n',
    )
  })

  test('the bytes that clients look for: go-openai the first of the data line, eino and langchain4j the name of the event', () => {
    for (const name of ['upstreamInvalidRequest', 'keyDisabled', 'upstreamBroken', 'upstreamBusy', 'timedOut', 'draining'] as const) {
      const frame = Buffer.from(chatFormat.transcoder(call(), STAMP).fail(new Refusal(name))).toString()
      const [data = '', event, ...end] = frame.split('\n')
      expect(data).toStartWith('data: {"error":{"type":"')
      expect([event, ...end]).toEqual(['event: error', '', ''])
      const { type, message } = REFUSALS[name]
      expect(JSON.parse(data.slice(6))).toEqual({ error: { type, message }, type: 'error' })
    }
  })

  test('an end before a stop reason is a fault, after it a finish', () => {
    expect(streamed([start(), text('a')]).fault).toBeInstanceOf(Refusal)
    expect(streamed([start(), text('a')]).text).not.toContain('[DONE]')
    expect(streamed([start(), text('a'), stopped()]).text).toEndWith('data: [DONE]\n\n')
    expect(streamed([]).fault?.name).toBe('upstreamBroken')
  })

  test('one end, whatever follows it', () => {
    const refusal = streamed([start(), stopped('refusal'), done])
    expect([deltas(refusal).length, reasons(refusal).at(-1)]).toEqual([2, 'content_filter'])
    const more = streamed([start(), stopped(), done, 'data: [DONE]\n\n', text('late'), done])
    expect(more.text.split('[DONE]')).toHaveLength(2)
    expect(content(more)).toBe('')
  })

  test('a complete message becomes a proper stream', () => {
    const message = readMessage(
      bytes(
        JSON.stringify({
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          content: [{ type: 'thinking', thinking: 'hm', signature: 's' }, { type: 'text', text: 'Hi' }, tool('f', { a: 1 })],
          stop_reason: 'tool_use',
          usage: { input_tokens: 3, output_tokens: 4 },
        }),
      ),
    )
    if (message === undefined) throw new Error('not a message')
    const answer = stream(whole(streamOfMessage(message)))
    expect([content(answer), argumentsOf(answer, 0), reasons(answer).at(-1)]).toEqual(['Hi', '{"a":1}', 'tool_calls'])
    expect(deltas(answer)).toContainEqual({ thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 's' }] })
  })
})

test('a delta is lifted, never parsed: 1,000 deltas cost no JSON.parse', () => {
  const frames = Array.from({ length: 1000 }, (_, index) => toBytes(text(`word ${index} `) as never))
  const transcoder = chatFormat.transcoder(call(), STAMP)
  transcoder.push(bytes(start() + open(0, { type: 'text', text: '' })))
  const parse = spyOn(JSON, 'parse')
  const stringify = spyOn(JSON, 'stringify')
  const lengths = frames.map((frame) => inOnePiece(transcoder.push(frame).now).byteLength)
  const called = [parse.mock.calls.length, stringify.mock.calls.length]
  parse.mockRestore()
  stringify.mockRestore()
  expect(called).toEqual([0, 0])
  expect(lengths.every((length) => length > 0)).toBe(true)
})
