/** Frames are found in bytes as the standard has it, none is lost or invented, and none fills the memory. Rules: native.md "Frames". */

import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { decode, EMPTY, encode } from '../../../src/core/bytes/byte-string.ts'
import { EVENT_BYTES_MAX } from '../../../src/core/limits.ts'
import { frameLines, readFrame } from '../../../src/core/sse/read-event.ts'
import { FrameSplitter, type TakeKnown } from '../../../src/core/sse/split-frames.ts'
import { runs } from '../../support/property-runs.ts'
import { startProcessorWatch } from '../../support/until.ts'

/** The events of a stream as the standard describes them, from the whole text: the oracle. */
function eventsOf(text: string): { event: string; data: string }[] {
  const events: { event: string; data: string }[] = []
  let event = ''
  let data: string[] = []
  for (const line of text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/)) {
    if (line === '') {
      if (data.length > 0) events.push({ event, data: data.join('\n') })
      event = ''
      data = []
      continue
    }
    const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/su.exec(line) ?? []
    if (field === 'data') data.push(value)
    if (field === 'event') event = value
  }
  return events
}

/** The same events, from chunks, by our reader. */
function readChunks(chunks: readonly Uint8Array[]): { event: string; data: string }[] {
  const splitter = new FrameSplitter()
  const events: { event: string; data: string }[] = []
  for (const chunk of chunks) {
    const isSound = splitter.push(chunk, (text, start, end) => {
      const { event, data } = readFrame(text, start, end)
      const hasData = frameLines(text, start, end).some(({ field }) => field === 'data')
      if (hasData) events.push({ event: decode(event), data: decode(data) })
    })
    expect(isSound).toBe(true)
  }
  return events
}

const lineEnd = fc.constantFrom('\n', '\r\n', '\r')
const value = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('{"a":1}', 'héé 漢字 👩‍👩‍👧', '\u2028\u2029\u0085\v\f', ' lead', ': x'),
)
const line = fc
  .tuple(fc.constantFrom('data', 'event', 'id', 'retry', '', 'other'), fc.constantFrom(':', ': ', ':  '), value)
  .map(([field, colon, text]) => `${field}${colon}${text.replaceAll(/[\r\n]/g, '')}`)
const lines = fc.array(fc.oneof(line, line, fc.constantFrom('', '', 'data', 'event')), { maxLength: 20 })
const stream = fc
  .tuple(lines, fc.infiniteStream(lineEnd), fc.boolean())
  .map(([all, ends, hasBom]) =>
    [hasBom ? '\ufeff' : '', ...[...all, '', ''].map((text) => `${text}${ends.next().value}`), ': end'].join(''),
  )

function cut(bytes: Uint8Array, lengths: readonly number[]): Uint8Array[] {
  const chunks: Uint8Array[] = []
  let at = 0
  for (let index = 0; at < bytes.length; index++) {
    const next = at + (lengths[index % lengths.length] ?? 1)
    chunks.push(bytes.subarray(at, next))
    at = next
  }
  return chunks
}

describe('frames with any line ends, however the network cuts them', () => {
  test('the events are those of the standard', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1 }), (text, lengths) => {
        const bytes = Buffer.from(text)
        const expected = eventsOf(text)
        const known = lengths.some((length) => length > 0) ? lengths : [1]
        expect(readChunks([bytes])).toEqual(expected)
        expect(readChunks(cut(bytes, [1]))).toEqual(expected)
        expect(readChunks(cut(bytes, known))).toEqual(expected)
      }),
      { numRuns: runs(1000) },
    )
  })

  test('no byte is lost, none is invented, and the frames stand one behind the other', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }), (text, lengths) => {
        const splitter = new FrameSplitter()
        let seen = ''
        for (const chunk of cut(Buffer.from(text), lengths)) {
          let at = 0
          splitter.push(chunk, (held, start, end) => {
            expect(start).toBe(at)
            at = end
            seen += held.slice(start, end)
          })
        }
        const rest = encode(text.replace(/^\ufeff/, '')).slice(seen.length)
        expect(splitter.rest()).toBe(rest)
        expect(seen + rest).toBe(encode(text.replace(/^\ufeff/, '')))
        expect(rest).not.toMatch(/\n\n|\r\r|\r\n\r\n/)
      }),
    )
  })
})

test('a CRLF that the network cut in half stays in its frame', () => {
  for (const [first, second] of [
    ['data: x\r\n\r', '\n'],
    ['data: x\r\n', '\r\n'],
    ['data: x\r', '\n\r\n'],
  ] as const) {
    const splitter = new FrameSplitter()
    const frames: string[] = []
    splitter.push(Buffer.from(first), (text, start, end) => frames.push(text.slice(start, end)))
    expect(frames).toEqual([])
    splitter.push(Buffer.from(second), (text, start, end) => frames.push(text.slice(start, end)))
    expect(frames).toEqual(['data: x\r\n\r\n'])
    expect(splitter.rest()).toBe(EMPTY)
  }
})

test('an open frame is refused at 8 MiB, a stream of short ones never is', () => {
  const piece = new Uint8Array(1024 * 1024).fill(0x61)
  const open = new FrameSplitter()
  const pieces = EVENT_BYTES_MAX / piece.length
  for (let i = 0; i < pieces; i++) expect(open.push(piece, () => undefined)).toBe(true)
  expect(open.push(piece, () => undefined)).toBe(false)
  const closed = new FrameSplitter()
  piece.set([0x0a, 0x0a], piece.length - 2)
  for (let i = 0; i < 2 * pieces; i++) expect(closed.push(piece, () => undefined)).toBe(true)
})

/** Whether the splitter stays sound to the end, and the lengths of the frames that it gave. */
function feed(chunks: readonly Uint8Array[], takeKnown?: TakeKnown): { isSound: boolean; lengths: readonly number[] } {
  const splitter = new FrameSplitter()
  const lengths: number[] = []
  const isSound = chunks.every((chunk) => splitter.push(chunk, (_, start, end) => lengths.push(end - start), takeKnown))
  return { isSound, lengths }
}

/** A small frame, a large one of so many bytes before its blank line, and a small one; and where the large one is about to end. */
function withLargeFrame(bytes: number, blankLine: string): { stream: Buffer; end: number } {
  const before = Buffer.from('data: a\n\n')
  const end = before.length + bytes
  return { stream: Buffer.concat([before, Buffer.alloc(bytes, 'x'), Buffer.from(`${blankLine}data: b\n\n`)]), end }
}

const blankLines = ['\n\n', '\r\n\r\n', '\r\r', '\n\r\n', '\r\n\n', '\r\r\n', '\n\r'] as const

test('an event of more than 8 MiB is refused, one of 8 MiB is not, however the network cuts them', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...blankLines),
      fc.constantFrom(-1, 0, 1, 2, 1_000_000),
      fc.array(fc.integer({ min: -6, max: 9 }), { maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: EVENT_BYTES_MAX + 2_000_000 }), { maxLength: 6 }),
      (blankLine, over, nearEnd, anywhere) => {
        const { stream, end } = withLargeFrame(EVENT_BYTES_MAX + over, blankLine)
        const places = [...new Set([...nearEnd.map((at) => end + at), ...anywhere])]
          .filter((at) => at < stream.length)
          .sort((a, b) => a - b)
        const chunks = [0, ...places].map((at, index) => stream.subarray(at, places[index]))
        for (const { isSound, lengths } of [feed([stream]), feed(chunks)]) {
          expect(isSound).toBe(over <= 0)
          if (over > 0) expect(lengths).toEqual([9])
          else expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(stream.length)
        }
      },
    ),
    // Each run feeds 16 MiB: more of them take a minute and show nothing new.
    { numRuns: 60 },
  )
})

test('an event that is known by sight is measured like any other', () => {
  for (const over of [0, 1]) {
    const { stream } = withLargeFrame(EVENT_BYTES_MAX + over, '\n\n')
    expect(feed([stream], (text, start) => text.indexOf('\n\n', start) + 2).isSound).toBe(over === 0)
  }
})

test('a frame that comes byte by byte is joined once, not once a byte', () => {
  const splitter = new FrameSplitter()
  const spentMs = startProcessorWatch()
  const byte = Buffer.from('a')
  for (let i = 0; i < 300_000; i++) splitter.push(byte, () => undefined)
  expect(spentMs()).toBeLessThan(3_000)
})
