/**
 * Laws that hold for every input: nothing throws, stream and complete answer agree, and what goes upstream is what native takes.
 * Rules: native.md "What native refuses"; translation.md "Parity".
 */

import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type OpenAI from 'openai'
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream'
import { chatCompletion } from '../../../../src/core/formats/chat/response.ts'
import type { ChatChunk, ChatCompletion, ChatDelta, ChatEcho, ChatUsage } from '../../../../src/core/formats/chat/wire.ts'
import { readMessage } from '../../../../src/core/native/message.ts'
import { Refusal } from '../../../../src/core/refusal.ts'
import { whole } from '../../../support/chunks.ts'
import { GOLDEN_MODEL, streamCases } from '../../../support/golden.ts'
import { runs } from '../../../support/property-runs.ts'
import { bytes, call, chunksOf, dataOf, type Json, read, STAMP, stream } from './chat-call.ts'
import { oracle } from './oracle.ts'

/** Compiles only while our types are the SDK's. */
const sdkTypes = {
  completion: (ours: ChatCompletion): OpenAI.ChatCompletion => ours,
  chunk: (ours: ChatChunk): OpenAI.ChatCompletionChunk => ours,
  delta: (ours: ChatDelta): OpenAI.ChatCompletionChunk.Choice.Delta => ours,
  usage: (ours: ChatUsage): OpenAI.CompletionUsage => ours,
}

// ---- random native streams ----

const words = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom('', '\ud83d', '\u2028', '"text":"', '漢字 👩‍👩‍👧', '\\', '\u0000'),
)
const pieces = fc.array(words, { maxLength: 5 })
const inputs = fc.dictionary(fc.string({ maxLength: 4 }), fc.oneof(fc.integer(), fc.string(), fc.constant(null)), { maxKeys: 3 })

type Piece = { block: Json; pieces: string[]; kind: 'text' | 'thinking' | 'json' | 'none'; isWhole: boolean }
const textBlock = fc.record({
  kind: fc.constant('text' as const),
  block: fc.constant({ type: 'text', text: '' }),
  pieces,
  isWhole: fc.boolean(),
})
const thinkingBlock = fc.record({
  kind: fc.constant('thinking' as const),
  block: fc.record({ type: fc.constant('thinking'), thinking: fc.constant(''), signature: fc.constantFrom('', 'c2ln') }),
  pieces,
  isWhole: fc.boolean(),
})
const toolBlock = fc
  .tuple(
    inputs,
    fc.constantFrom('tool_use', 'server_tool_use'),
    fc.constantFrom('f', 'g'),
    fc.array(fc.nat(20), { maxLength: 3 }),
    fc.boolean(),
  )
  .map(([input, type, name, places, isWhole]) => {
    const text = JSON.stringify(input)
    const at = [0, ...[...new Set(places)].filter((place) => place < text.length).sort((a, b) => a - b), text.length]
    const parts = input && Object.keys(input).length > 0 ? at.slice(1).map((end, index) => text.slice(at[index], end)) : ['']
    return { kind: 'json' as const, block: { type, id: `toolu_${text.length}`, name, input }, pieces: parts, isWhole }
  })
const otherBlock = fc
  .constantFrom<Json>({ type: 'redacted_thinking', data: 'RW5j' }, { type: 'web_search_tool_result', content: [] }, { type: 'hologram' })
  .map((block) => ({ kind: 'none' as const, block, pieces: [] as string[], isWhole: true }))
const blocks = fc.array(fc.oneof(textBlock, thinkingBlock, toolBlock, otherBlock), { maxLength: 6 })

/** None that cannot be true: an estimate goes by the bytes of the deltas, which another spelling changes. */
const usages = fc.record({
  input_tokens: fc.integer({ min: 1, max: 1000 }),
  output_tokens: fc.integer({ min: 1, max: 1000 }),
  cache_read_input_tokens: fc.option(fc.nat(1000)),
  cache_creation_input_tokens: fc.option(fc.nat(1000)),
})
const stopReasons = fc.constantFrom('end_turn', 'tool_use', 'max_tokens', 'stop_sequence', 'refusal', 'pause_turn', 'weird')
const answers = fc.record({ blocks, usage: usages, stopReason: stopReasons })
type Answer = { blocks: Piece[]; usage: Json; stopReason: string }

/** How the upstream writes a frame: line ends, comments between, padding, spaces, a missing event line, several data lines. */
const styles = fc.record({
  lineEnd: fc.constantFrom('\n', '\r\n', '\r'),
  noise: fc.constantFrom(
    '',
    ': comment',
    'id: 7',
    'event: ping\ndata: {"type":"ping"}\n\n',
    'event: comet\ndata: {"type":"comet","delta":{}}\n\n',
  ),
  spelling: fc.constantFrom('canonical', 'padded', 'spaced', 'reversed', 'escaped', 'several lines'),
  hasEventLine: fc.boolean(),
})
type Style = { lineEnd: string; noise: string; spelling: string; hasEventLine: boolean }

function frame(type: string, fields: Json, style: Style): string {
  const body = { type, ...fields }
  const json = spell(body, style.spelling)
  const noise = style.noise === '' || style.noise.endsWith('\n\n') ? style.noise : `${style.noise}\n`
  return `${noise}${style.hasEventLine ? `event: ${type}\n` : ''}${json}\n\n`.replaceAll('\n', style.lineEnd)
}

function spell(body: Json, spelling: string): string {
  switch (spelling) {
    case 'padded':
      return `data: ${JSON.stringify(body).slice(0, -1)}${' '.repeat(9)}}`
    case 'spaced':
      return `data:${JSON.stringify(body, null, 1).replaceAll('\n', ' ')}`
    case 'reversed':
      return `data: ${JSON.stringify(Object.fromEntries(Object.entries(body).reverse()))}`
    case 'escaped':
      return `data: ${JSON.stringify(body).replace(/[\u0080-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)}`
    case 'several lines':
      return JSON.stringify(body, null, 1)
        .split('\n')
        .map((line) => `data: ${line}`)
        .join('\n')
    default:
      return `data: ${JSON.stringify(body)}`
  }
}

const FIELD = { text: 'text', thinking: 'thinking', json: 'partial_json' }
const DELTA = { text: 'text_delta', thinking: 'thinking_delta', json: 'input_json_delta' }

/** The stream of an answer, each frame in the next of the styles. */
function nativeStream(answer: Answer, frameStyles: readonly Style[], hasStart = true): Uint8Array {
  let next = 0
  const write = (type: string, fields: Json = {}): string => frame(type, fields, frameStyles[next++ % frameStyles.length] as Style)
  const start = { ...answer.usage, output_tokens: 1 }
  const frames = [write('message_start', { message: { id: 'msg_01R', type: 'message', role: 'assistant', content: [], usage: start } })]
  answer.blocks.forEach(({ block, kind, pieces: parts, isWhole }, index) => {
    if (kind === 'none') frames.push(write('content_block_start', { index, content_block: block }))
    else if (isWhole)
      frames.push(write('content_block_start', { index, content_block: wholeBlock({ block, kind, pieces: parts, isWhole }) }))
    else {
      const empty = kind === 'json' ? { ...block, input: {} } : kind === 'thinking' ? { ...block, signature: '' } : block
      frames.push(write('content_block_start', { index, content_block: empty }))
      for (const part of parts) frames.push(write('content_block_delta', { index, delta: { type: DELTA[kind], [FIELD[kind]]: part } }))
      if (block['signature'])
        frames.push(write('content_block_delta', { index, delta: { type: 'signature_delta', signature: block['signature'] } }))
    }
    frames.push(write('content_block_stop', { index }))
  })
  frames.push(
    write('message_delta', { delta: { stop_reason: answer.stopReason, stop_sequence: null }, usage: answer.usage }),
    write('message_stop'),
  )
  return bytes(frames.slice(hasStart ? 0 : 1).join(''))
}

const wholeBlock = ({ block, kind, pieces: parts }: Piece): Json =>
  kind === 'text' || kind === 'thinking' ? { ...block, [kind]: parts.join('') } : block

/** The complete message of the same answer. */
function nativeMessage(answer: Answer) {
  const message = readMessage(
    bytes(
      JSON.stringify({
        id: 'msg_01R',
        type: 'message',
        role: 'assistant',
        content: answer.blocks.map(wholeBlock),
        stop_reason: answer.stopReason,
        usage: answer.usage,
      }),
    ),
  )
  if (message === undefined) throw new Error('not a message')
  return message
}

/** What a client makes of the chunks by adding them up. */
function fold(chunks: readonly Json[]): Json {
  const message: Json = {}
  let finish_reason: unknown = null
  let usage: unknown
  for (const chunk of chunks) {
    usage = chunk['usage'] ?? usage
    const [choice] = chunk['choices']
    if (choice === undefined) continue
    finish_reason = choice.finish_reason ?? finish_reason
    for (const [key, value] of Object.entries<Json>(choice.delta)) {
      if (key === 'thinking_blocks') message[key] = [...(message[key] ?? []), ...(value as Json[])]
      else if (key === 'function_call') message[key] = add(message[key] ?? {}, value)
      else if (key !== 'tool_calls') message[key] = key === 'role' ? value : `${message[key] ?? ''}${value}`
      else for (const call of value as Json[]) addCall(message, call)
    }
  }
  return { message, finish_reason, usage }
}

function addCall(message: Json, { index, ...call }: Json): void {
  message['tool_calls'] = message['tool_calls'] ?? []
  message['tool_calls'][index] = add(message['tool_calls'][index] ?? {}, call)
}

function add(known: Json, more: Json): Json {
  for (const [key, value] of Object.entries(more)) {
    if (typeof value === 'object') known[key] = add(known[key] ?? {}, value)
    else known[key] = key === 'arguments' || key === 'input' ? (known[key] ?? '') + value : value
  }
  return known
}

/** The bytes cut at these places. */
const cutAt = (native: Uint8Array, places: readonly number[]): Uint8Array[] => {
  const sorted = [...new Set(places)].filter((place) => place < native.length).sort((a, b) => a - b)
  return [0, ...sorted].map((place, index) => native.subarray(place, sorted[index] ?? native.length))
}

const ECHOES = fc.constantFrom<Partial<ChatEcho>>({}, { includesUsageChunk: true }, { isLegacy: true }, { customTools: new Set(['g']) })

describe('any native stream', () => {
  test('says what the oracle says, frame for frame, however it is written and cut', () => {
    fc.assert(
      fc.property(
        answers,
        fc.array(styles, { minLength: 1, maxLength: 4 }),
        fc.array(fc.nat(4000), { maxLength: 12 }),
        ECHOES,
        fc.boolean(),
        (answer, frameStyles, places, echo, hasStart) => {
          const native = nativeStream(answer, frameStyles, hasStart)
          const slow = oracle(native, call(echo), STAMP)
          const fast = dataOf(stream(cutAt(native, places), call(echo)).text)
          expect(fast.map((data) => (data === '[DONE]' ? data : JSON.stringify(JSON.parse(data))))).toEqual([...slow.frames])
        },
      ),
      { numRuns: runs(300) },
    )
  })

  test('is the very bytes of the oracle where the upstream writes JSON as we do', () => {
    const canonical = { lineEnd: '\n', noise: '', spelling: 'canonical', hasEventLine: true }
    fc.assert(
      fc.property(answers, ECHOES, (answer, echo) => {
        const native = nativeStream(answer, [canonical])
        const slow = oracle(native, call(echo), STAMP)
        expect(dataOf(stream(whole(native), call(echo)).text)).toEqual([...slow.frames])
      }),
      { numRuns: runs(200) },
    )
  })

  test('parity: the chunks add up to the complete answer of the same message', () => {
    fc.assert(
      fc.property(answers, fc.array(styles, { minLength: 1, maxLength: 3 }), ECHOES, (answer, frameStyles, echo) => {
        const folded = fold(chunksOf(stream(whole(nativeStream(answer, frameStyles)), call(echo)).text))
        const [choice] = chatCompletion(nativeMessage(answer), call(echo), STAMP).choices
        const { refusal: _null, ...message } = choice.message
        expect(folded['message']).toEqual(JSON.parse(JSON.stringify(message)))
        expect(folded['finish_reason']).toBe(choice.finish_reason)
        expect(folded['usage']).toEqual(chatCompletion(nativeMessage(answer), call(echo), STAMP).usage)
      }),
      { numRuns: runs(200) },
    )
  })
})

test("the SDK's own accumulator takes every complete golden stream and finds the same answer", async () => {
  for (const { name, native, usage } of streamCases()) {
    if (usage.end !== 'complete') continue
    const chunks = chunksOf(stream(whole(native)).text)
    const lines = new Response(chunks.map((chunk) => `${JSON.stringify(chunk)}\n`).join('')).body
    const completion = await ChatCompletionStream.fromReadableStream(lines as ReadableStream).finalChatCompletion()
    const folded = fold(chunks)
    expect([name, completion.choices[0]?.message.content]).toEqual([name, folded['message'].content])
    expect(completion.choices[0]?.message.tool_calls?.length).toBe(folded['message'].tool_calls?.length)
    expect(Object.keys(sdkTypes)).toHaveLength(4)
  }
})

describe('any request', () => {
  test('any JSON is answered: a native body or a refusal, never an exception', () => {
    const keys = [
      'model',
      'messages',
      'tools',
      'tool_choice',
      'functions',
      'function_call',
      'stop',
      'stream',
      'stream_options',
      'response_format',
    ]
    const more = [
      'reasoning',
      'reasoning_effort',
      'thinking',
      'max_tokens',
      'temperature',
      'metadata',
      'cache_control',
      'n',
      'user',
      'prompt_cache_key',
    ]
    const body = fc.dictionary(fc.constantFrom(...keys, ...more), fc.jsonValue({ maxDepth: 4 }))
    fc.assert(
      fc.property(body, fc.boolean(), (json, isNamed) => {
        const answer = read(isNamed ? { ...json, model: GOLDEN_MODEL.id, messages: [{ role: 'user', content: 'x' }] } : json)
        if (answer instanceof Refusal) expect(answer.row.status).toBe(400)
        else expect(JSON.parse(Buffer.from(answer.body).toString())).toBeObject()
      }),
      { numRuns: runs(500) },
    )
  })

  const TYPES = [
    'text',
    'image_url',
    'file',
    'image',
    'document',
    'tool_use',
    'tool_result',
    'thinking',
    'redacted_thinking',
    'refusal',
    'odd',
  ]
  const scalars = fc.oneof(
    fc.jsonValue({ maxDepth: 1 }),
    fc.constantFrom('a', 'b', '', ' ', 'data:image/png;base64,iVBORw0KGgo', 'https://x/y'),
  )
  const partFields = [
    'text',
    'refusal',
    'image_url',
    'file',
    'source',
    'id',
    'tool_use_id',
    'name',
    'input',
    'content',
    'thinking',
    'signature',
    'data',
  ]
  const part = fc
    .tuple(fc.constantFrom(...TYPES), fc.dictionary(fc.constantFrom(...partFields), scalars))
    .map(([type, fields]) => ({ ...fields, type }))
  const content = fc.oneof(
    fc.constantFrom<unknown>('x', ' ', '', null, undefined, 5),
    fc.array(fc.oneof({ arbitrary: part, weight: 9 }, { arbitrary: scalars, weight: 1 }), { maxLength: 4 }),
  )
  const ids = fc.constantFrom<unknown>('a', 'b', 'a.b', 'a:b', '', undefined, 'x'.repeat(200))
  const toolCall = fc.record({
    id: ids,
    type: fc.constantFrom<unknown>('function', undefined, 'custom', 'odd'),
    function: fc.record({
      name: fc.constantFrom('f', 'g.h', ''),
      arguments: fc.oneof(fc.constantFrom('', '{}', '{"a":1.0}', '[1]', 'x'), scalars),
    }),
  })
  const messages = fc.array(
    fc.record(
      {
        role: fc.constantFrom('system', 'developer', 'user', 'assistant', 'tool', 'function'),
        content,
        tool_calls: fc.array(toolCall, { maxLength: 2 }),
        tool_call_id: ids,
        name: fc.constantFrom('f', 'g.h'),
        function_call: fc.oneof(scalars, fc.record({ name: fc.constant('f'), arguments: fc.constant('{}') })),
        thinking_blocks: fc.array(part, { maxLength: 2 }),
        reasoning_details: scalars,
        cache_control: fc.constantFrom<unknown>({ type: 'ephemeral' }, { type: 'x' }, undefined, undefined, undefined),
      },
      { requiredKeys: ['role', 'content'] },
    ),
    { maxLength: 6 },
  )

  test('any messages of about the right shape', () => {
    fc.assert(
      fc.property(messages, (list) => {
        const answer = read({ model: GOLDEN_MODEL.id, messages: list })
        if (!(answer instanceof Refusal)) expectNative(JSON.parse(Buffer.from(answer.body).toString()))
        else expect(answer.message).toMatch(/^(messages|cache_control)/)
      }),
      { numRuns: runs(1500) },
    )
  })

  /** Conversations that make sense, with everything in them that has to be repaired. */
  const loops = fc.array(
    fc.oneof(
      fc
        .record({ role: fc.constantFrom('user', 'system', 'assistant'), content: fc.constantFrom('x', ' ', 'y ') })
        .map((message) => [message]),
      fc.array(ids, { minLength: 1, maxLength: 3 }).chain((called) =>
        fc.tuple(fc.shuffledSubarray(called, { minLength: called.length }), fc.boolean()).map(([answered, isInterrupted]) => [
          {
            role: 'assistant',
            content: ' ',
            tool_calls: called.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{"a":' } })),
          },
          ...(isInterrupted ? [{ role: 'user', content: 'wait' }] : []),
          ...answered.map((id) => ({ role: 'tool', tool_call_id: id ?? '', content: 'ok' })),
        ]),
      ),
    ),
    { minLength: 1, maxLength: 8 },
  )

  test('what goes upstream keeps the native rules and alternates roles', () => {
    let reached = 0
    fc.assert(
      fc.property(loops, fc.constantFrom<unknown>(undefined, 'x', [' ', 'x', 'x']), fc.boolean(), (list, stop, caches) => {
        const answer = read({ model: GOLDEN_MODEL.id, messages: list.flat(), stop, ...(caches ? { prompt_cache_key: 'k' } : {}) })
        if (answer instanceof Refusal) return expect(answer.message).toContain('at least one message')
        reached++
        expectNative(JSON.parse(Buffer.from(answer.body).toString()))
      }),
      { numRuns: runs(400) },
    )
    expect(reached).toBeGreaterThan(300)
  })
})

function expectNative(body: Json): void {
  const turns: Json[] = body['messages']
  const seen = new Set<string>()
  let open: string[] = []
  expect(turns.length).toBeGreaterThan(0)
  for (const [index, { role, content }] of turns.entries()) {
    if (index > 0) expect(role).not.toBe(turns[index - 1]?.['role'])
    const blocks: Json[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    expect(blocks.length).toBeGreaterThan(0)
    for (const block of blocks) if (block['type'] === 'text') expect(block['text'].trim()).not.toBe('')
    const results = blocks.filter(({ type }) => type === 'tool_result')
    expect(blocks.slice(0, results.length)).toEqual(results)
    expect(results.map((block) => block['tool_use_id']).sort()).toEqual([...open].sort())
    open = []
    for (const block of blocks) {
      if (block['type'] !== 'tool_use') continue
      expect(block['id']).toMatch(/^[A-Za-z0-9_-]{1,128}$/)
      expect(seen.has(block['id'])).toBe(false)
      expect(block['input']).toBeObject()
      seen.add(block['id'])
      open.push(block['id'])
    }
    if (index === turns.length - 1 && role === 'assistant') expect(blocks.at(-1)?.['text']).toBe(blocks.at(-1)?.['text'].trimEnd())
  }
  expect(open).toEqual([])
  if (seen.size > 0) expect(body['tools'].length).toBeGreaterThan(0)
  for (const tool of body['tools'] ?? []) {
    expect(tool['name']).toMatch(/^[A-Za-z0-9_-]{1,128}$/)
    expect(tool['input_schema'].type).toBe('object')
  }
  expect(JSON.stringify(body).split('"cache_control"').length).toBeLessThanOrEqual(5)
  for (const entry of body['stop_sequences'] ?? []) expect(entry.trim()).not.toBe('')
}
