import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { decode, encode } from '../../../src/core/byte-string.ts'
import { EVENT_BYTES_MAX } from '../../../src/core/limits.ts'
import { frameLines } from '../../../src/core/sse/frame-lines.ts'
import { readFrame } from '../../../src/core/sse/read-event.ts'
import { FrameSplitter } from '../../../src/core/sse/split-frames.ts'
import { runs } from '../../support/property-runs.ts'

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
  test('SF-01 to SF-11 the events are those of the standard', () => {
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
        const { isBetweenFrames } = splitter
        expect(splitter.rest() === '').toBe(isBetweenFrames)
        const rest = encode(text.replace(/^\ufeff/, '')).slice(seen.length)
        expect(seen + rest).toBe(encode(text.replace(/^\ufeff/, '')))
        expect(rest).not.toMatch(/\n\n|\r\r|\r\n\r\n/)
      }),
    )
  })
})

test('SF-04 a CRLF that the network cut in half stays in its frame', () => {
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
    expect(splitter.isBetweenFrames).toBe(true)
  }
})

test('between frames is told from inside one, also after an empty chunk', () => {
  const splitter = new FrameSplitter()
  const push = (text: string): boolean => {
    splitter.push(Buffer.from(text), () => undefined)
    return splitter.isBetweenFrames
  }
  expect([push(''), push('da'), push('ta: x\n'), push(''), push('\n'), push(''), push('a\n\nb'), push('\n\n')]).toEqual([
    true,
    false,
    false,
    false,
    true,
    true,
    false,
    true,
  ])
})

test('SF-19 an open frame is refused at 8 MiB, a stream of short ones never is', () => {
  const piece = new Uint8Array(1024 * 1024).fill(0x61)
  const open = new FrameSplitter()
  const pieces = EVENT_BYTES_MAX / piece.length
  for (let i = 0; i < pieces; i++) expect(open.push(piece, () => undefined)).toBe(true)
  expect(open.push(piece, () => undefined)).toBe(false)
  const closed = new FrameSplitter()
  piece.set([0x0a, 0x0a], piece.length - 2)
  for (let i = 0; i < 2 * pieces; i++) expect(closed.push(piece, () => undefined)).toBe(true)
})

test('a frame that comes byte by byte is joined once, not once a byte', () => {
  const splitter = new FrameSplitter()
  const started = performance.now()
  const byte = Buffer.from('a')
  for (let i = 0; i < 300_000; i++) splitter.push(byte, () => undefined)
  expect(performance.now() - started).toBeLessThan(3_000)
})
