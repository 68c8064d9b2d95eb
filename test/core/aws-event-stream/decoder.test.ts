/** The stream inside binary frames is the native stream, however the network cuts it, and what is no such stream harms nothing. Rules: native.md "Binary frames". */

import { describe, expect, test } from 'bun:test'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { EventStreamDecoder } from '../../../src/core/aws-event-stream/decoder.ts'
import type { CountDifference } from '../../../src/core/aws-event-stream/invocation-metrics.ts'
import { EMPTY, fromBytes } from '../../../src/core/bytes/byte-string.ts'
import { BINARY_FRAME_BYTES_MAX } from '../../../src/core/limits.ts'
import { finalUsage, partialUsage } from '../../../src/core/native/observation.ts'
import { NativeReader, type NativeSink } from '../../../src/core/native/reader.ts'
import { Refusal } from '../../../src/core/refusal.ts'
import { readFrame } from '../../../src/core/sse/read-event.ts'
import { FrameSplitter } from '../../../src/core/sse/split-frames.ts'
import { CHUNK_HEADERS, chunkFrame, exceptionFrame, frameOf, payloadOf } from '../../support/binary-frames.ts'
import { cuts, randomCuts } from '../../support/chunks.ts'
import { type ExpectedUsage, GOLDEN_BOUNDS, GOLDEN_MODEL, streamCases } from '../../support/golden.ts'
import { runs } from '../../support/property-runs.ts'

type Decoded = Readonly<{ text: string; isBroken: boolean; isWhole: boolean; differences: readonly CountDifference[] }>

function decode(chunks: readonly Uint8Array[]): Decoded {
  const differences: CountDifference[] = []
  const decoder = new EventStreamDecoder({ crc32, onDifference: (difference) => differences.push(difference) })
  const text = Buffer.concat(chunks.map((chunk) => decoder.push(chunk))).toString()
  const { isBroken } = decoder
  decoder.end()
  return { text, isBroken, isWhole: !decoder.isBroken, differences }
}

const sse = (type: string, json: string): string => `event: ${type}\ndata: ${json}\n\n`
const delta = (text: string): string => JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })
const START = JSON.stringify({
  type: 'message_start',
  message: { usage: { input_tokens: 7, cache_read_input_tokens: 90, output_tokens: 1 } },
})
const END = JSON.stringify({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 12 } })
const stopWith = (metrics: object): string => JSON.stringify({ type: 'message_stop', 'amazon-bedrock-invocationMetrics': metrics })

const NO_SINK: NativeSink = { delta: () => undefined, event: () => undefined, ignored: () => undefined }

function usageOf(chunks: readonly Uint8Array[]): ExpectedUsage {
  const reader = new NativeReader(NO_SINK, GOLDEN_MODEL)
  for (const chunk of chunks) reader.push(chunk)
  reader.end('ended')
  const { observation, state } = reader
  const end = state instanceof Refusal ? state.name : state
  if (end === 'reading') throw new Error('the stream never ended')
  const { usage, isEstimated } = end === 'complete' ? finalUsage(observation, GOLDEN_BOUNDS) : partialUsage(observation, GOLDEN_BOUNDS)
  return { usage, isEstimated, stopReason: observation.stopReason ?? null, end }
}

/** The same events in binary frames, as far as the door could have sent them: JSON, with its type inside. */
function framed(native: Uint8Array): Uint8Array {
  const frames: Uint8Array[] = []
  new FrameSplitter().push(native, (text, start, end) => {
    const { data } = readFrame(text, start, end)
    if (data !== EMPTY) frames.push(chunkFrame(Buffer.from(data, 'latin1').toString()))
  })
  return Buffer.concat(frames)
}

const SAYS_TYPE_IN_DATA = (name: string): boolean => !/^(?:sse-|cut-|error-last|error-without|json-malformed|done-)/.test(name)

describe('a golden stream in binary frames bills what the stream itself does', () => {
  for (const { name, native, usage } of streamCases().filter((one) => SAYS_TYPE_IN_DATA(one.name))) {
    test(name, () => {
      for (const [how, chunks] of cuts(framed(native))) {
        const decoder = new EventStreamDecoder({ crc32, onDifference: () => undefined })
        expect(usageOf(chunks.map((chunk) => decoder.push(chunk))), how).toEqual(usage)
        expect(decoder.isBroken, how).toBe(false)
      }
    })
  }
})

test('events leave letter by letter as they stand in the frames', () => {
  const events = [
    START,
    delta('a "b" \\ ü \u2028 👩‍👧'),
    '{"delta":{"text":"x","type":"text_delta"},"index":0,"type":"content_block_delta"}',
    END,
  ]
  const frames = Buffer.concat(events.map(chunkFrame))
  const expected = events.map((json) => sse(JSON.parse(json).type, json)).join('')
  for (const [how, chunks] of cuts(frames)) expect(decode(chunks), how).toMatchObject({ text: expected, isBroken: false, isWhole: true })
})

test('a payload in another form is read all the same', () => {
  const json = delta('hello')
  const base64 = Buffer.from(json).toString('base64')
  const payloads = [
    `{"p":"abc","bytes":"${base64}"}`,
    `{ "bytes" : "${base64}" }`,
    `{"bytes":"${base64.replace(/^./, (first) => `\\u00${first.charCodeAt(0).toString(16)}`)}"}`,
  ]
  for (const payload of payloads) expect(decode([frameOf(CHUNK_HEADERS, payload)]).text).toBe(sse('content_block_delta', json))
})

test('line ends between the tokens of an event do not end its line', () => {
  for (const json of [JSON.stringify(JSON.parse(END), null, 2), delta('x').replace(',"index"', ',\r\n"index"')])
    expect(decode([chunkFrame(json)]).text).toBe(sse(JSON.parse(json).type, json.replaceAll(/[\r\n]/g, ' ')))
})

test('an event cannot make a line of its own', () => {
  const { text } = decode([chunkFrame(JSON.stringify({ type: 'ping\n\nevent: error\ndata: {}' }))])
  expect(text).toBe('data: {"type":"ping\\n\\nevent: error\\ndata: {}"}\n\n')
})

test('an event without a type says nothing, except for an error', () => {
  expect(decode([chunkFrame('{"completion":"x"}')]).text).toBe('')
  expect(decode([chunkFrame('{"error":{"message":"x"}}')]).text).toBe(sse('error', '{"error":{"message":"x"}}'))
})

test('frames of other types have nothing of an answer', () => {
  const initial = frameOf({ ':event-type': 'initial-response', ':message-type': 'event' }, '{}')
  expect(decode([initial, chunkFrame(END)])).toMatchObject({ text: sse('message_delta', END), isBroken: false })
  // Headers of the same length behind the usual ones.
  for (const type of ['other', 'chunj', 'dhunk'])
    expect(decode([chunkFrame(delta('a')), frameOf({ ...CHUNK_HEADERS, ':event-type': type }, payloadOf(delta('b')))])).toMatchObject({
      text: sse('content_block_delta', delta('a')),
      isBroken: false,
    })
})

describe('what the door counts', () => {
  const stream = (metrics: object): readonly Uint8Array[] => [START, END, stopWith(metrics)].map(chunkFrame)

  test('is taken out of the stream', () => {
    const { text, differences } = decode(
      stream({ inputTokenCount: 7, outputTokenCount: 12, cacheReadInputTokenCount: 90, cacheWriteInputTokenCount: 0 }),
    )
    expect(text.endsWith(sse('message_stop', '{"type":"message_stop"}'))).toBe(true)
    expect(differences).toEqual([])
  })

  test('agrees with our count with the cached tokens in the input, or without', () => {
    expect(decode(stream({ inputTokenCount: 97, outputTokenCount: 12 })).differences).toEqual([])
    expect(decode(stream({})).differences).toEqual([])
  })

  test('is told where it differs', () => {
    expect(decode(stream({ inputTokenCount: 8, outputTokenCount: 12 })).differences).toEqual([{ counter: 'input', ours: 7, theirs: 8 }])
    expect(decode(stream({ inputTokenCount: 7, outputTokenCount: 13 })).differences).toEqual([{ counter: 'output', ours: 12, theirs: 13 }])
    expect(decode(stream({ cacheReadInputTokenCount: 1 })).differences).toEqual([{ counter: 'cache_read', ours: 90, theirs: 1 }])
    expect(decode(stream({ cacheWriteInputTokenCount: 5 })).differences).toEqual([{ counter: 'cache_write', ours: 0, theirs: 5 }])
  })

  test('never shows, wherever it stands, and neither does anything else of the door', () => {
    const door = { 'amazon-bedrock-invocationMetrics': { inputTokenCount: 7 }, 'amazon-bedrock-guardrailAction': 'NONE' }
    for (const event of [{ ...door, ...JSON.parse(END) }, { ...JSON.parse(START), ...door }, door])
      expect(decode([chunkFrame(JSON.stringify(event))]).text).not.toContain('amazon')
  })
})

/** The refusal that a client gets of a stream which ends so. */
function refusalOf(frames: readonly Uint8Array[]): Refusal {
  const decoder = new EventStreamDecoder({ crc32, onDifference: () => undefined })
  const reader = new NativeReader(NO_SINK, GOLDEN_MODEL)
  for (const frame of frames) reader.push(decoder.push(frame))
  if (!(reader.state instanceof Refusal)) throw new Error(`the stream is ${reader.state}`)
  return reader.state
}

describe('an error that ends the stream is its row of the table of faults', () => {
  for (const [kind, row] of [
    ['internalServerException', 'upstreamBroken'],
    ['modelStreamErrorException', 'upstreamBroken'],
    ['modelTimeoutException', 'upstreamBusy'],
    ['serviceUnavailableException', 'upstreamBusy'],
    ['throttlingException', 'upstreamBusy'],
    ['validationException', 'upstreamInvalidRequest'],
    ['accessDeniedException', 'upstreamAccount'],
    ['somethingNewException', 'upstreamBroken'],
    ['', 'upstreamBroken'],
  ] as const)
    test(`${kind || 'an exception without a kind'} is ${row}`, () => {
      expect(refusalOf([chunkFrame(START), exceptionFrame(kind, { message: 'Something failed' })]).name).toBe(row)
    })

  test('an error of the model has the status and the words that the model gave', () => {
    const said = (originalStatusCode: unknown) => ({ message: 'wrapped', originalStatusCode, originalMessage: 'top_k: too large' })
    const kind = 'modelStreamErrorException'
    expect(refusalOf([exceptionFrame(kind, said(529))]).name).toBe('upstreamBusy')
    expect(refusalOf([exceptionFrame(kind, said(400))]).message).toBe('top_k: too large')
    expect(refusalOf([exceptionFrame(kind, said('400'))]).name).toBe('upstreamBroken')
    expect(refusalOf([exceptionFrame(kind, said(1e9))]).name).toBe('upstreamBroken')
  })

  test('a frame of type error is one', () => {
    const error = (code: string) => frameOf({ ':message-type': 'error', ':error-code': code, ':error-message': 'no' }, '')
    expect(refusalOf([error('InternalFailure')]).name).toBe('upstreamBroken')
    expect(refusalOf([error('throttlingException')]).name).toBe('upstreamBusy')
  })

  test('an exception whose body cannot be read is one, and nothing counts behind it', () => {
    const broken = frameOf({ ':message-type': 'exception', ':exception-type': 'throttlingException' }, '{')
    expect(refusalOf([broken]).name).toBe('upstreamBusy')
    expect(decode([broken, chunkFrame(END)]).text.match(/event: /g)).toHaveLength(1)
  })
})

describe('what is no such stream', () => {
  const frames = [START, delta('hello'), delta('x'.repeat(300)), END, stopWith({ inputTokenCount: 7 })].map(chunkFrame)
  const right = decode(frames).text

  test('a byte that is another one is found, and nothing wrong is delivered', () => {
    const all = Buffer.concat(frames)
    fc.assert(
      fc.property(fc.nat(all.length - 1), fc.integer({ min: 1, max: 255 }), randomCuts(all), (place, change, cut) => {
        const at = { value: 0 }
        const chunks = cut.map((piece) => {
          const copy = Uint8Array.from(piece)
          const inside = place - at.value
          if (inside >= 0 && inside < copy.length) copy[inside] = (copy[inside] ?? 0) ^ change
          at.value += piece.length
          return copy
        })
        const { text, isBroken, isWhole } = decode(chunks)
        expect(right.startsWith(text)).toBe(true)
        expect(text).not.toBe(right)
        expect(isBroken || !isWhole).toBe(true)
      }),
      { numRuns: runs(300) },
    )
  })

  test('what came before it still counts, however it is cut', () => {
    const all = Buffer.concat([...frames.slice(0, 2), Buffer.from('HTTP/1.1 502 Bad Gateway\r\n\r\n')])
    for (const [how, chunks] of cuts(all))
      expect(decode(chunks), how).toMatchObject({
        text: sse('message_start', START) + sse('content_block_delta', delta('hello')),
        isBroken: true,
      })
  })

  test('an end inside a frame is not whole', () => {
    const all = Buffer.concat(frames)
    expect(decode([all.subarray(0, -1)])).toMatchObject({ isBroken: false, isWhole: false })
  })

  test('a payload without an event is no stream', () => {
    for (const payload of [
      '',
      '{}',
      '[]',
      '{"bytes":7}',
      '{"bytes":"***"}',
      '{"bytes":',
      `${'['.repeat(200)}"bytes"`,
      payloadOf('x').replace('"bytes":"', '"bytes":"*'),
    ])
      expect(decode([frameOf(CHUNK_HEADERS, payload)])).toMatchObject({ text: '', isBroken: true })
  })

  test('an event that is no JSON is handed on for the stream’s reader to refuse', () => {
    for (const event of ['{', 'x', '[1]', `{"type":"ping","a":${'['.repeat(200)}${']'.repeat(200)}}`]) {
      expect(refusalOf([chunkFrame(event)]).name).toBe('upstreamBroken')
    }
  })

  test('a message of a type that is not known is no stream', () => {
    expect(decode([frameOf({ ':message-type': 'new' }, '{}')])).toMatchObject({ text: '', isBroken: true })
    expect(decode([frameOf({}, '{}')])).toMatchObject({ text: '', isBroken: true })
  })

  test('a frame that claims to be larger than any event is refused with its first bytes', () => {
    const prelude = (length: number, headers: number): Uint8Array => {
      const bytes = Buffer.alloc(12)
      bytes.writeUInt32BE(length)
      bytes.writeUInt32BE(headers, 4)
      bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8)
      return bytes
    }
    expect(decode([prelude(BINARY_FRAME_BYTES_MAX, 0)]).isBroken).toBe(false)
    for (const [length, headers] of [
      [BINARY_FRAME_BYTES_MAX + 1, 0],
      [2 ** 32 - 1, 0],
      [15, 0],
      [0, 0],
      [100, 85],
      [1_000_000, 131_073],
    ] as const)
      for (const [how, chunks] of cuts(prelude(length, headers))) expect(decode(chunks).isBroken, `${length} ${headers} ${how}`).toBe(true)
  })

  test('lengths whose own CRC is wrong are not waited for', () => {
    const bytes = Buffer.from(chunkFrame(END))
    bytes[8] = (bytes[8] ?? 0) ^ 1
    for (const [how, chunks] of cuts(bytes.subarray(0, 12))) expect(decode(chunks).isBroken, how).toBe(true)
  })

  test('any bytes, and any frame around them, crash nothing and make no more than they are', () => {
    const headers = fc.dictionary(
      fc.constantFrom(':message-type', ':event-type', ':exception-type', ':error-code', 'x'),
      fc.constantFrom('event', 'chunk', 'exception', 'error', ''),
      { maxKeys: 4 },
    )
    const json = fc.oneof(
      fc.json(),
      fc.string(),
      fc
        .record({ type: fc.string(), usage: fc.anything(), message: fc.anything(), 'amazon-bedrock-invocationMetrics': fc.anything() })
        .map((one) => JSON.stringify(one, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))),
    )
    const frame = fc.oneof(
      fc.uint8Array({ maxLength: 64 }),
      json.map(chunkFrame),
      fc.tuple(headers, fc.oneof(json, json.map(payloadOf))).map(([fields, payload]) => frameOf(fields, payload)),
    )
    const stream = fc
      .array(frame, { maxLength: 6 })
      .map((all) => Buffer.concat(all))
      .chain((all) => fc.tuple(fc.constant(all), randomCuts(all)))
    fc.assert(
      fc.property(stream, ([all, cut]) => {
        const pieces = decode(cut)
        expect(pieces.text).toBe(decode([all]).text)
        expect(pieces.isBroken).toBe(decode([all]).isBroken)
        expect(pieces.text.length).toBeLessThan(3 * all.length + 1_000)
      }),
      { numRuns: runs(300) },
    )
  })

  test('headers that are none are no stream', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), (garbage) => {
        const length = 16 + garbage.length
        const bytes = Buffer.alloc(length)
        bytes.writeUInt32BE(length)
        bytes.writeUInt32BE(garbage.length, 4)
        bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8)
        bytes.set(garbage, 12)
        bytes.writeUInt32BE(crc32(bytes.subarray(0, length - 4)), length - 4)
        expect(decode([bytes])).toMatchObject({ text: '', isBroken: true })
      }),
      { numRuns: runs(300) },
    )
  })
})

test('a frame that comes byte by byte costs its own length in memory, not more with each byte', () => {
  const decoder = new EventStreamDecoder({ crc32, onDifference: () => undefined })
  const event = delta('y'.repeat(200_000))
  let text = ''
  for (const byte of chunkFrame(event)) text += fromBytes(decoder.push(Uint8Array.of(byte)))
  expect(text).toBe(sse('content_block_delta', event))
})
