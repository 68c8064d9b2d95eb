/** An answer in one piece is bounded and counted as its stream would be. Rules: native.md "Answer". */

import { describe, expect, test } from 'bun:test'
import { readMessage } from '../../../src/core/native/message.ts'
import { NativeReader } from '../../../src/core/native/reader.ts'
import { streamOfMessage } from '../../../src/core/native/stream-of-message.ts'

const MODEL = { id: 'a', upstreamModel: 'b' }
const SINK = { delta: () => undefined, event: () => undefined, ignored: () => undefined }
const nested = (levels: number): string => `${'['.repeat(levels)}1${']'.repeat(levels)}`
const message = (content: string): Uint8Array => Buffer.from(`{"type":"message","role":"assistant","content":[${content}]}`)
const toolUse = (input: string): string => `{"type":"tool_use","id":"t","name":"f","input":${input}}`
const frame = (json: string): Uint8Array => Buffer.from(`data: ${json}\n\n`)

function read(...frames: readonly Uint8Array[]): NativeReader {
  const reader = new NativeReader(SINK, MODEL)
  for (const bytes of frames) reader.push(bytes)
  return reader
}

describe('JSON of an upstream is bounded like that of a client', () => {
  test('an answer that is nested too deeply, or has too many parts, is a broken upstream, never an exception', () => {
    expect(readMessage(message(toolUse(`{"a":${nested(100)}}`)))).toBeDefined()
    for (const levels of [200, 5_000, 200_000]) expect(readMessage(message(toolUse(`{"a":${nested(levels)}}`)))).toBeUndefined()
    expect(readMessage(message(toolUse(`{"a":[${'1,'.repeat(1_000_001)}1]}`)))).toBeUndefined()
  })

  test('so is an event of a stream, wherever the nesting stands', () => {
    for (const levels of [200, 5_000, 200_000]) {
      for (const json of [
        `{"type":"content_block_start","index":0,"content_block":${toolUse(`{"a":${nested(levels)}}`)}}`,
        `{"type":"content_block_delta","index":0,"delta":{"type":"other","a":${nested(levels)}}}`,
        `{"type":"ping","a":${nested(levels)}}`,
        `{"type":"error","error":{"type":"overloaded_error","message":"m"},"a":${nested(levels)}}`,
      ])
        expect(read(frame(json)).state).toMatchObject({ name: 'upstreamBroken' })
    }
    expect(read(frame(`{"type":"ping","a":[${'{},'.repeat(1_500_000)}1]}`)).state).toMatchObject({ name: 'upstreamBroken' })
    expect(read(frame(`{"type":"ping","a":${nested(100)}}`)).state).toBe('reading')
  })

  test('nested brackets inside a string are text', () => {
    const text = JSON.stringify('['.repeat(10_000))
    expect(readMessage(message(`{"type":"text","text":${text}}`))?.content).toHaveLength(1)
    expect(
      read(frame(`{"index":0,"type":"content_block_delta","delta":{"type":"text_delta","text":${text}}}`)).observation.contentBytes,
    ).toBe(10_000)
  })
})

describe('delivered content is counted, however it arrives', () => {
  const start = (block: string): Uint8Array => frame(`{"type":"content_block_start","index":0,"content_block":${block}}`)

  test('text, thinking with its signature, and calls with whole inputs that came with their block', () => {
    const blocks = ['{"type":"text","text":"käse"}', '{"type":"thinking","thinking":"a\\nb","signature":"s"}', toolUse('{"a":1}')]
    expect(read(...blocks.map(start)).observation.contentBytes).toBe(5 + 4 + 8)
    expect(readMessage(message(blocks.join(',')))?.observation.contentBytes).toBe(5 + 4 + 8)
  })

  test('an empty block that deltas will fill counts nothing yet', () => {
    for (const block of ['{"type":"text","text":""}', '{"type":"hologram"}']) expect(read(start(block)).observation.contentBytes).toBe(0)
    expect(read(start(toolUse('{}'))).observation.contentBytes).toBe('f'.length)
  })

  test('an answer in one piece that is streamed counts as its deltas do: with what JSON escapes', () => {
    const whole = readMessage(message(`{"type":"text","text":"a\\u00e9\\"b"},${toolUse('{"a":[1,"ü"]}')}`))
    if (whole === undefined) throw new Error('not a message')
    expect(whole.observation.contentBytes).toBe(5 + 15)
    expect(read(streamOfMessage(whole)).observation.contentBytes).toBe(6 + 19)
  })
})

test('the stream of an answer in one piece has its content in deltas, of a bounded size, that join to what it was', () => {
  const text = `${'a'.repeat(16_383)}😀${'ü'.repeat(40_000)}`
  const input = { path: text, count: 2 }
  const citation = { type: 'char_location', cited_text: 'x' }
  const blocks = [
    { type: 'thinking', thinking: text, signature: 'sig' },
    { type: 'redacted_thinking', data: 'RW5j' },
    { type: 'text', text, citations: [citation] },
    { type: 'text', text: '' },
    { type: 'tool_use', id: 't', name: 'f', input },
    { type: 'tool_use', id: 'u', name: 'g', input: {} },
  ]
  const whole = readMessage(message(blocks.map((block) => JSON.stringify(block)).join(',')))
  if (whole === undefined) throw new Error('not a message')
  const events = Buffer.from(streamOfMessage(whole))
    .toString()
    .split('\n\n')
    .filter((sent) => sent !== '')
    .map((sent) => JSON.parse(sent.slice(sent.indexOf('data: ') + 6)))
  const started = events.filter(({ type }) => type === 'content_block_start').map(({ content_block }) => content_block)
  expect(started).toEqual([
    { type: 'thinking', thinking: '', signature: '' },
    blocks[1],
    { type: 'text', text: '', citations: [] },
    { type: 'text', text: '' },
    { type: 'tool_use', id: 't', name: 'f', input: {} },
    { type: 'tool_use', id: 'u', name: 'g', input: {} },
  ])
  const deltas = events.filter(({ type }) => type === 'content_block_delta')
  const joined = (index: number, field: string) =>
    deltas.flatMap((event) => (event.index === index ? (event.delta[field] ?? []) : [])).join('')
  expect([joined(0, 'thinking'), joined(0, 'signature'), joined(2, 'text')]).toEqual([text, 'sig', text])
  expect(JSON.parse(joined(4, 'partial_json'))).toEqual(input)
  expect(deltas.filter(({ index }) => [1, 3, 5].includes(index))).toEqual([])
  expect(deltas.filter(({ delta }) => delta.type === 'citations_delta')).toEqual([
    { type: 'content_block_delta', index: 2, delta: { type: 'citations_delta', citation } },
  ])
  for (const { delta } of deltas) {
    const piece = String(delta.text ?? delta.thinking ?? delta.partial_json ?? '')
    expect(piece.length).toBeLessThanOrEqual(16_384)
    expect(piece.isWellFormed()).toBe(true)
  }
})

describe('what a door adds to a whole answer reaches no client, and every other byte does', () => {
  const ADDED = '"amazon-bedrock-invocationMetrics":{"inputTokenCount":1,"a":[{"b":"},"}]}'
  test.each([
    [`{"type":"message", "content":[ ] ,${ADDED}}`, '{"type":"message", "content":[ ]}'],
    [`{${ADDED}, "type":"message","content":[]}`, '{ "type":"message","content":[]}'],
    [
      `{"id":"é","type":"message","amazon-bedrock-trace":"x",${ADDED},"content":[{"text":"say \\"amazon-bedrock-x\\""}]}`,
      '{"id":"é","type":"message","content":[{"text":"say \\"amazon-bedrock-x\\""}]}',
    ],
    ['{"type":"message","content":[{"amazon-bedrock-x":1}]}', '{"type":"message","content":[{"amazon-bedrock-x":1}]}'],
    ['{"type": "message", "content": []}', '{"type": "message", "content": []}'],
  ])('%s', (answer, native) => {
    const read = readMessage(Buffer.from(answer), 'amazon-bedrock-')
    expect(Buffer.from(read?.bytes ?? []).toString()).toBe(native)
    expect(read?.json).toEqual(JSON.parse(native))
    expect(Buffer.from(readMessage(Buffer.from(answer))?.bytes ?? []).toString()).toBe(answer)
  })
})
