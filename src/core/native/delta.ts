/**
 * The hot path: finds the JSON string literal of a delta inside a frame without parsing or decoding it. It accepts only the shape that native upstreams
 * really send, letter by letter (with their padding of spaces before the last brace); anything else is `false` and takes the slow path, where
 * `JSON.parse` decides. Source: wire.md §1.6, §5.2.
 */

import { type ByteString, EMPTY } from '../byte-string.ts'

export type DeltaKind = 'text' | 'json' | 'thinking'

/** A piece of block `index`: its JSON string literal is `literal[from, to)`, quotes included. */
export interface Delta {
  readonly kind: DeltaKind
  readonly index: number
  readonly literal: ByteString
  readonly from: number
  readonly to: number
}

const EVENT_LINE = 'event: content_block_delta\n'
const HEAD = 'data: {"type":"content_block_delta","index":'
const DELTA = ',"delta":{"type":"'
const KINDS: readonly { kind: DeltaKind; head: string }[] = [
  { kind: 'text', head: 'text_delta","text":' },
  { kind: 'json', head: 'input_json_delta","partial_json":' },
  { kind: 'thinking', head: 'thinking_delta","thinking":' },
]

/** Where the last delta that was found stands. One object a stream, so that a delta costs no allocation. */
export class DeltaFinder implements Delta {
  kind: DeltaKind = 'text'
  index = 0
  literal: ByteString = EMPTY
  from = 0
  to = 0

  /** True when `text[start, end)` is one delta frame of the canonical shape; the fields then say where its literal is. */
  find(text: ByteString, start: number, end: number): boolean {
    let at = text.startsWith(EVENT_LINE, start) ? start + EVENT_LINE.length : start
    if (!text.startsWith(HEAD, at)) return false
    at = this.#readIndex(text, at + HEAD.length)
    if (at === -1 || !text.startsWith(DELTA, at)) return false
    at += DELTA.length
    const match = KINDS.find(({ head }) => text.startsWith(head, at))
    if (match === undefined) return false
    this.kind = match.kind
    this.literal = text
    this.from = at + match.head.length
    this.to = stringEnd(text, this.from)
    return this.to !== -1 && closesTwice(text, this.to, end)
  }

  /** Reads one to four digits; where they end, or -1. */
  #readIndex(text: string, at: number): number {
    let index = 0
    let next = at
    for (let digit = text.charCodeAt(next) - 48; digit >= 0 && digit <= 9; digit = text.charCodeAt(++next) - 48) index = index * 10 + digit
    this.index = index
    const digits = next - at
    return digits === 0 || digits > 4 || (digits > 1 && text.charCodeAt(at) === 48) ? -1 : next
  }
}

const QUOTE = 34
const BACKSLASH = 92
/** What a JSON string holds without an escape. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: RFC 8259 §7 excludes exactly these
const PLAIN = /[^"\\\u0000-\u001f]*/y
/** What may follow a backslash. */
const ESCAPE = /["\\/bfnrt]|u[0-9a-fA-F]{4}/y

/** Where the JSON string literal that opens at `from` ends, past its quote; -1 when it is not a valid literal. */
export function stringEnd(text: string, from: number): number {
  if (text.charCodeAt(from) !== QUOTE) return -1
  for (let at = from + 1; ; ) {
    PLAIN.lastIndex = at
    PLAIN.test(text)
    at = PLAIN.lastIndex
    const stop = text.charCodeAt(at)
    if (stop === QUOTE) return at + 1
    if (stop !== BACKSLASH) return -1
    ESCAPE.lastIndex = at + 1
    if (!ESCAPE.test(text)) return -1
    at = ESCAPE.lastIndex
  }
}

/** True when only two closing braces, spaces and line ends stand between `at` and `end`. */
function closesTwice(text: string, at: number, end: number): boolean {
  if (text.charCodeAt(at) !== 125) return false
  let next = at + 1
  while (text.charCodeAt(next) === 32) next++
  if (text.charCodeAt(next) !== 125) return false
  for (next++; next < end; next++) {
    const code = text.charCodeAt(next)
    if (code !== 10 && code !== 13 && code !== 32) return false
  }
  return true
}
