/** The fast path of a delta delivers what JSON.parse would, and leaves alone what is not exactly of its shape. Rules: native.md "Frames". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { decode, encode } from '../../../src/core/bytes/byte-string.ts'
import { DeltaFinder, stringEnd } from '../../../src/core/native/delta.ts'
import { NativeReader } from '../../../src/core/native/reader.ts'

const KINDS = [
  ['text', 'text_delta', 'text'],
  ['json', 'input_json_delta', 'partial_json'],
  ['thinking', 'thinking_delta', 'thinking'],
] as const

/** A JSON string literal with every kind of escape at random places. */
const literal = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text).slice(1, -1)),
      fc.constantFrom(
        '\\u00e9',
        '\\ud83d\\ude80',
        '\\ud83d',
        '\\/',
        '\\\\',
        '\\"',
        '\\u0000',
        '\u2028',
        '\u0085',
        '漢',
        '"}}'.replace('"', '\\"'),
      ),
    ),
  )
  .map((parts) => `"${parts.join('')}"`)

test('the literal of a canonical delta frame is found, and is what JSON.parse reads', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...KINDS),
      fc.nat(9999),
      literal,
      fc.nat(5),
      fc.boolean(),
      fc.constantFrom('\n\n', '\r\n\r\n'),
      (kind, index, text, pad, hasEvent, end) => {
        const [name, type, field] = kind
        const json = `{"type":"content_block_delta","index":${index},"delta":{"type":"${type}","${field}":${text}}${' '.repeat(pad)}}`
        const before = encode('event: ping\ndata: {}\n\n')
        const frame = encode(`${hasEvent ? 'event: content_block_delta\n' : ''}data: ${json}${end}`)
        const whole = `${before}${frame}${before}` as typeof frame
        const finder = new DeltaFinder()
        expect(finder.find(whole, before.length)).toBe(true)
        expect([finder.kind, finder.index, finder.isNamed]).toEqual([name, index, hasEvent])
        expect([finder.start, finder.end]).toEqual([before.length, before.length + frame.length])
        const found = decode(finder.literal.slice(finder.from, finder.to))
        expect(found).toBe(text)
        expect(JSON.parse(found)).toBe(JSON.parse(json).delta[field])
      },
    ),
  )
})

test('what is not exactly of the canonical shape is left to the slow path', () => {
  const good = 'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}\n\n'
  const strange = [
    good.replace('"index":0', '"index":01'),
    good.replace('"index":0', '"index":12345'),
    good.replace('"index":0', '"index":-1'),
    good.replace('"index":0', '"index":'),
    good.replace('"x"', '"x'),
    good.replace('"x"', '"\\x"'),
    good.replace('"x"', '"\\u12g4"'),
    good.replace('"x"', '"a\tb"'),
    good.replace('"x"', 'null'),
    good.replace('"x"', '"x","more":1'),
    good.replace('}}', '},"more":1}'),
    good.replace('}}', '}'),
    good.replace('}}', '}}}'),
    good.replace('}}\n', '}}\ndata: 1\n'),
    good.replace('text_delta', 'citations_delta'),
    good.replace('data: ', 'data:'),
    `event: message\n${good}`,
    `: comment\n${good}`,
    good.slice(0, -1),
    good.replace('\n\n', '\n'),
    good.replace('\n\n', '\r\r'),
    good.replace('\n\n', '\n\r\n'),
    good.replace('}}', '}} '),
    '',
  ]
  const finder = new DeltaFinder()
  expect(finder.find(encode(good), 0)).toBe(true)
  for (const text of strange) expect(finder.find(encode(text), 0), text).toBe(false)
})

test('a delta is found whatever was found before it: the beginning that is remembered misleads nobody', () => {
  const frameOf = fc.tuple(fc.constantFrom(...KINDS), fc.nat(12), fc.boolean(), fc.constantFrom('"x"', '"a\\n"', '"\\q"', '1'))
  fc.assert(
    fc.property(fc.array(frameOf, { maxLength: 12 }), (frames) => {
      const kept = new DeltaFinder()
      for (const [[, type, field], index, hasEvent, value] of frames) {
        const json = `{"type":"content_block_delta","index":${index},"delta":{"type":"${type}","${field}":${value}}}`
        const text = encode(`${hasEvent ? 'event: content_block_delta\n' : ''}data: ${json}\n\n`)
        const fresh = new DeltaFinder()
        const isFound = fresh.find(text, 0)
        expect(kept.find(text, 0)).toBe(isFound)
        const where = ({ kind, index, from, to, end, isNamed }: DeltaFinder) => ({ kind, index, from, to, end, isNamed })
        if (isFound) expect(where(kept)).toEqual(where(fresh))
      }
    }),
  )
})

test('a string literal ends where JSON says, or has no end', () => {
  fc.assert(
    fc.property(literal, fc.string(), (text, after) => {
      expect(stringEnd(encode(text + after), 0)).toBe(encode(text).length)
    }),
  )
  for (const text of ['', 'x', '"', '"\\', '"\\"', '"\n"', '"\\q"', '"\\u12"']) expect(stringEnd(text, 0), text).toBe(-1)
})

test('fast and slow path deliver the same text for the same JSON, whatever its key order', () => {
  const read = (json: string): string[] => {
    const texts: string[] = []
    const sink = {
      delta: (delta: { kind: string; index: number; literal: string; from: number; to: number }) => {
        texts.push(`${delta.kind} ${delta.index} ${JSON.stringify(JSON.parse(decode(delta.literal.slice(delta.from, delta.to))))}`)
      },
      event: () => undefined,
      ignored: () => undefined,
    }
    new NativeReader(sink, { id: 'a', upstreamModel: 'b' }).push(Buffer.from(`event: content_block_delta\ndata: ${json}\n\n`))
    return texts
  }
  fc.assert(
    fc.property(fc.constantFrom(...KINDS), literal, ([name, type, field], text) => {
      const fast = read(`{"type":"content_block_delta","index":3,"delta":{"type":"${type}","${field}":${text}}}`)
      const slow = read(`{"index":3, "delta":{"${field}":${text}, "type":"${type}"}, "type":"content_block_delta"}`)
      expect(slow).toEqual(fast)
      expect(fast).toEqual([`${name} 3 ${JSON.stringify(JSON.parse(text))}`])
    }),
  )
})
