/** Deltas that are lifted out of the bytes of a large read say what the same bytes say in small reads. Rules: native.md "Stream", "Frames". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { encode } from '../../../src/core/bytes/byte-string.ts'
import { ByteWriter } from '../../../src/core/bytes/byte-writer.ts'
import { chatFormat } from '../../../src/core/formats/chat/format.ts'
import { EVENT_BYTES_MAX } from '../../../src/core/limits.ts'
import { DeltaRun } from '../../../src/core/native/delta-run.ts'
import { call, STAMP } from '../formats/chat/chat-call.ts'

const PREFIX = 'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":'
const TEMPLATE = { before: encode('<'), after: encode('>') }
const delta = (literal: string, index = 0, type = 'text_delta', field = 'text'): string =>
  `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"${type}","${field}":${literal}}}\n\n`
const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text))

/** What is lifted of `text`, how much of it was read, and how many bytes of content that was. */
function lifted(text: string): readonly [written: string, end: number, contentBytes: number] {
  const out = new ByteWriter()
  const run = new DeltaRun()
  const end = run.lift(bytes(text), 0, PREFIX, TEMPLATE, out)
  return [Buffer.from(out.take()).toString(), end, run.contentBytes]
}

test('deltas that follow each other are lifted with all that JSON allows in a string, and an empty one says nothing', () => {
  const literals = ['"All"', '" wörk é 漢 🚀"', '""', String.raw`"\" \\ \/ \b\f\n\r\t \u00e9\uD83D"`, `"${'no '.repeat(200)}"`, '"play"']
  const text = literals.map((literal, n) => delta(literal).replace('}}', `}${' '.repeat(n)}}`)).join('')
  const contentBytes = literals.reduce((sum, literal) => sum + Buffer.byteLength(literal) - 2, 0)
  const written = literals.map((literal) => (literal === '""' ? '' : `<${literal}>`)).join('')
  expect(lifted(text)).toEqual([written, bytes(text).length, contentBytes])
})

test('a run stops before what is no such delta', () => {
  const before = delta('"one"')
  const others = [
    delta('"two"', 1),
    delta('"two"', 0, 'thinking_delta', 'thinking'),
    delta('"tw\no"'),
    delta('"tw\x01o"'),
    delta(String.raw`"tw\x"`),
    delta(String.raw`"tw\u12g4"`),
    delta('"tw"o"'),
    delta('"two'),
    delta('2'),
    delta('"two","more":"x"'),
    delta('"two"').replace('}}', '} x}'),
    delta('"two"').replace('}}\n\n', '}}\n'),
    delta('"two"').replaceAll('\n', '\r\n'),
    delta('"two"').slice(0, -1),
    delta('"two"').slice(0, 100),
    delta('"two"').replace('event:', 'Event:'),
    delta(`"${'x'.repeat(EVENT_BYTES_MAX)}"`),
    'event: ping\ndata: {"type":"ping"}\n\n',
    '',
  ]
  for (const other of others) expect(lifted(before + other)).toEqual(['<"one">', before.length, 3])
})

const START = `event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":9,"output_tokens":1}}}\n\n`
const open = (index: number, block: object): string =>
  `event: content_block_start\ndata: ${JSON.stringify({ type: 'content_block_start', index, content_block: block })}\n\n`
const stop = (index: number): string => `event: content_block_stop\ndata: {"type":"content_block_stop","index":${index}}\n\n`
const END = `event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n`

const literal = fc.oneof(
  fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text)),
  fc.constantFrom('""', String.raw`"\ud83d\/"`, `"${'long '.repeat(60)}"`),
)
/** Blocks of all kinds, each of some deltas with other frames between them. */
const block = (index: number): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.constantFrom(
        [{ type: 'text', text: '' }, 'text_delta', 'text'] as const,
        [{ type: 'thinking', thinking: '' }, 'thinking_delta', 'thinking'] as const,
        [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }, 'input_json_delta', 'partial_json'] as const,
      ),
      fc.array(fc.oneof({ weight: 5, arbitrary: literal }, fc.constantFrom(': comment\n\n', 'event: ping\ndata: {"type": "ping"}\n\n')), {
        maxLength: 30,
      }),
    )
    .map(
      ([[start, type, field], parts]) =>
        open(index, start) + parts.map((part) => (part.startsWith('"') ? delta(part, index, type, field) : part)).join('') + stop(index),
    )

/** All that the client gets when the stream comes in reads of such sizes, and what was seen of it. */
function answered(stream: Uint8Array, sizes: readonly number[]): readonly unknown[] {
  const transcoder = chatFormat.transcoder(call(), STAMP)
  const written: Uint8Array[] = []
  for (let at = 0, turn = 0; at < stream.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1
    const { now = [], last = [] } = transcoder.push(stream.slice(at, at + size))
    for (const pieces of [now, last]) written.push(...(pieces instanceof Uint8Array ? [pieces] : pieces))
    at += size
  }
  return [Buffer.concat(written).toString(), transcoder.observation]
}

test('a stream says the same in large reads as in small ones, wherever it is cut', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }).chain((count) => fc.tuple(...Array.from({ length: count }, (_, index) => block(index)))),
      fc.array(fc.integer({ min: 1_001, max: 9_000 }), { minLength: 1, maxLength: 5 }),
      (blocks, sizes) => {
        const stream = bytes(START + blocks.join('') + END)
        expect(answered(stream, sizes)).toEqual(answered(stream, [900]))
        expect(answered(stream, [stream.length])).toEqual(answered(stream, [900]))
      },
    ),
  )
})

test('what a push leaves is its own: nothing of it is changed by later ones, nor by those of other streams', () => {
  const text = START + open(0, { type: 'text', text: '' })
  const many = delta('"x"').repeat(300)
  const made = [1, 2].map(() => chatFormat.transcoder(call(), STAMP))
  const given = [text, many, delta('"y"').repeat(20), many, many].flatMap((piece) =>
    made.map((transcoder) => transcoder.push(bytes(piece)).now),
  )
  const copies = given.map((pieces) => Buffer.from(pieces as Uint8Array).toString())
  for (const transcoder of made) transcoder.push(bytes(delta('"zzz"').repeat(400)))
  expect(given.map((pieces) => Buffer.from(pieces as Uint8Array).toString())).toEqual(copies)
  expect(copies[2]?.split('"content":"x"')).toHaveLength(301)
})
