/**
 * Whatever native message an upstream can say, said as chat and translated back, is the same message: text, reasoning, calls, their order, why it stopped, and its usage. And
 * whatever bytes come as a chat stream, nothing throws, and native blocks never overlap. Rules: openai.md "Blocks", "Calls", "Ends", "Usage".
 */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { chatFormat } from '../../../../../src/core/formats/chat/format.ts'
import { chatCompletion } from '../../../../../src/core/formats/chat/response.ts'
import { messageOf, readCompletion } from '../../../../../src/core/formats/chat/reverse/completion.ts'
import { readMessage } from '../../../../../src/core/native/message.ts'
import { streamOfMessage } from '../../../../../src/core/native/stream-of-message.ts'
import { randomCuts } from '../../../../support/chunks.ts'
import { runs } from '../../../../support/property-runs.ts'
import { inOnePiece } from '../../../../support/written.ts'
import { call, type Json, STAMP } from '../chat-call.ts'
import { asNative, passedOn } from './recordings.ts'

const text = fc
  .array(
    fc.oneof(fc.string({ minLength: 1, maxLength: 12 }), fc.constantFrom('"', '\\', '\n', 'data: ', '\u2028', '漢字', '👩‍👧', '{"a":1}')),
    { minLength: 1, maxLength: 4 },
  )
  .map((parts) => parts.join(''))
const calls = fc.uniqueArray(
  fc.record({
    type: fc.constant('tool_use'),
    id: fc.constantFrom('toolu_1', 'toolu_2', 'functions_f_0', 'call-3'),
    name: fc.constantFrom('f', 'g'),
    input: fc.dictionary(fc.string({ minLength: 1, maxLength: 4 }), fc.oneof(fc.integer(), fc.string(), fc.constant(null)), { maxKeys: 3 }),
  }),
  { maxLength: 3, selector: ({ id }) => id },
)
/** Those that chat has a word for. */
const message = fc
  .record({
    thinking: fc.option(text, { nil: undefined }),
    said: fc.option(text, { nil: undefined }),
    calls,
    cut: fc.constantFrom(undefined, 'max_tokens', 'refusal'),
    usage: fc.record({
      input_tokens: fc.integer({ min: 1, max: 100_000 }),
      output_tokens: fc.integer({ min: 1_000, max: 100_000 }),
      cache_read_input_tokens: fc.nat(100_000),
      cache_creation_input_tokens: fc.nat(100_000),
      output_tokens_details: fc.record({ thinking_tokens: fc.nat(1_000) }),
    }),
  })
  .filter(({ said, calls: made, thinking }) => said !== undefined || made.length > 0 || thinking !== undefined)
  .map(({ thinking, said, calls: made, cut, usage }) => ({
    id: 'msg_01Fuzz',
    type: 'message',
    role: 'assistant',
    model: 'stella-2',
    content: JSON.parse(
      JSON.stringify([
        ...(thinking === undefined ? [] : [{ type: 'thinking', thinking, signature: 'tollgate.reasoning_content' }]),
        ...(said === undefined ? [] : [{ type: 'text', text: said }]),
        ...made,
      ]),
    ),
    stop_reason: cut ?? (made.length > 0 ? 'tool_use' : 'end_turn'),
    stop_sequence: null,
    usage,
  }))

const COUNTERS = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'] as const
const essence = (json: Json): Json => ({
  content: json['content'],
  stop_reason: json['stop_reason'],
  usage: Object.fromEntries(COUNTERS.map((name) => [name, json['usage'][name] ?? 0])),
  thinking: json['usage'].output_tokens_details?.thinking_tokens ?? 0,
})

/** The chunks that our own transcoder makes of a native stream. */
function asChat(native: Uint8Array): Uint8Array {
  const transcoder = chatFormat.transcoder(call({ includesUsageChunk: true }), STAMP)
  const { now, last } = transcoder.push(native)
  return Buffer.concat([inOnePiece(now), inOnePiece(last)])
}

/** The message that a native stream amounts to. Throws where blocks overlap, or something stands outside of the grammar. */
function folded(sse: string): Json {
  const events = sse.split('\n\n').flatMap((frame) => (frame === '' ? [] : [JSON.parse(frame.slice(frame.indexOf('data: ') + 6)) as Json]))
  const content: Json[] = []
  const said: string[] = []
  let open = -1
  let end: Json = {}
  for (const event of events) {
    if (event['type'] === 'content_block_start') {
      if (open !== -1 || event['index'] !== content.length) throw new Error('blocks overlap')
      open = event['index']
      content.push({ ...event['content_block'] })
      said.push('')
    } else if (event['type'] === 'content_block_delta') {
      if (event['index'] !== open) throw new Error('a delta outside of its block')
      const { text: words, thinking, partial_json: json, signature } = event['delta']
      said[open] += words ?? thinking ?? json ?? ''
      if (signature !== undefined) Object.assign(content[open] ?? {}, { signature })
    } else if (event['type'] === 'content_block_stop') {
      const block = content[open]
      const whole = said[open] ?? ''
      if (block?.['type'] === 'text') block['text'] = whole
      if (block?.['type'] === 'thinking') block['thinking'] = whole
      if (block?.['type'] === 'tool_use') block['input'] = whole === '' ? {} : JSON.parse(whole)
      open = -1
    } else if (event['type'] === 'message_delta') end = { ...event['delta'], usage: event['usage'] }
  }
  if (open !== -1) throw new Error('a block that never ends')
  return { content, ...end }
}

test('a message, streamed as chat and back, is the same message, however the network cuts it', () => {
  fc.assert(
    fc.property(
      message.chain((native) => {
        const read = readMessage(Buffer.from(JSON.stringify(native)))
        if (read === undefined) throw new Error('no message')
        return fc.tuple(fc.constant(native), randomCuts(asChat(streamOfMessage(read))))
      }),
      ([native, chunks]) => expect(essence(folded(asNative(chunks)))).toEqual(essence(native)),
    ),
    { numRuns: runs(200) },
  )
})

test('a message, whole as chat and back, is the same message', () => {
  fc.assert(
    fc.property(message, (native) => {
      const read = readMessage(Buffer.from(JSON.stringify(native)))
      if (read === undefined) throw new Error('no message')
      const completion = readCompletion(Buffer.from(JSON.stringify(chatCompletion(read, call(), STAMP))))
      const back = completion && messageOf(completion, { reasoning: 'auto', id: 'msg_1' })
      if (back === undefined || 'error' in back) throw new Error('no answer')
      expect(essence(back.json)).toEqual(essence(native))
    }),
    { numRuns: runs(200) },
  )
})

test('whatever chunks come, nothing throws, blocks never overlap, and a chat client gets JSON', () => {
  const piece = fc.oneof(fc.string({ maxLength: 6 }), fc.constant(null), fc.constant(5))
  const delta = fc.record(
    {
      role: piece,
      content: fc.oneof(piece, fc.constant([{ type: 'text', text: 'x' }])),
      reasoning_content: piece,
      reasoning: piece,
      refusal: piece,
      tool_calls: fc.array(
        fc.record(
          {
            index: fc.oneof(fc.nat(3), fc.constant(-1), fc.constant('0')),
            id: fc.constantFrom('a', 'b', '', null),
            function: fc.record(
              { name: piece, arguments: fc.oneof(piece, fc.constantFrom('{}', '{"a":1}', 'null')) },
              { requiredKeys: [] },
            ),
          },
          { requiredKeys: [] },
        ),
        { maxLength: 3 },
      ),
      function_call: fc.constantFrom(undefined, { name: 'f', arguments: '{}' }, 5),
    },
    { requiredKeys: [] },
  )
  const choice = fc.record({
    index: fc.constantFrom(0, 1, undefined),
    delta,
    finish_reason: fc.constantFrom(null, null, null, 'stop', 'length', 'odd', 7),
    logprobs: fc.constantFrom(null, {}),
  })
  const chunk = fc.oneof(
    fc.record({
      id: piece,
      choices: fc.array(choice, { maxLength: 2 }),
      usage: fc.constantFrom(undefined, null, {}, { prompt_tokens: -1 }, { prompt_tokens: 5, completion_tokens: 2 }),
    }),
    fc.jsonValue(),
  )
  const frames = fc.array(
    fc.oneof(
      { weight: 5, arbitrary: chunk.map((value) => `data: ${JSON.stringify(value)}\n\n`) },
      fc.constantFrom('data: [DONE]\n\n', ': ping\n\n', 'data: {\n\n', '\r\n'),
    ),
    { maxLength: 12 },
  )
  fc.assert(
    fc.property(frames, (all) => {
      const bytes = [Buffer.from(all.join(''))]
      const events = asNative(bytes)
        .split('\n\n')
        .flatMap((frame) => (frame === '' ? [] : [JSON.parse(frame.slice(frame.indexOf('data: ') + 6)) as Json]))
      let open = -1
      for (const { type, index } of events) {
        if (type === 'content_block_start') {
          expect(open).toBe(-1)
          open = index
        } else if (type === 'content_block_delta') expect(index).toBe(open)
        else if (type === 'content_block_stop') open = -1
      }
      for (const frame of passedOn(bytes).text.split('\n\n')) {
        const data = frame.replace(/\nevent: error$/, '').slice('data: '.length)
        if (data !== '' && data !== '[DONE]') JSON.parse(data)
      }
    }),
    { numRuns: runs(300) },
  )
})
