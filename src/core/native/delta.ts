/**
 * The hot path: finds a delta's frame and the JSON string literal in it without parsing or decoding. It accepts only the shape that native upstreams really
 * send, letter by letter (with their padding of spaces before the last brace); anything else is left to the slow path, where `JSON.parse` decides.
 * Rules: native.md "Stream"; house.md "One stage".
 */

import { type ByteString, EMPTY } from '../bytes/byte-string.ts'

export type DeltaKind = 'text' | 'json' | 'thinking'

/** A piece of the content of block `index`; its JSON string literal is `literal[from, to)`, quotes included. */
export interface Delta {
  readonly kind: DeltaKind
  readonly index: number
  readonly literal: ByteString
  readonly from: number
  readonly to: number
  /** True when its frame is known to begin with the right `event:` line. */
  readonly isNamed: boolean
  /** Its data names another type than its `event:` line. */
  readonly isRenamed?: boolean
}

/** One event as it stands in the stream: `text[start, end)`, its blank line included. */
export interface Frame {
  readonly text: ByteString
  readonly start: number
  readonly end: number
}

const EVENT_LINE = 'event: content_block_delta\n'
const HEAD = 'data: {"type":"content_block_delta","index":'
const DELTA = ',"delta":{"type":"'
const FIELDS = [
  ['text', 'text_delta","text":'],
  ['json', 'input_json_delta","partial_json":'],
  ['thinking', 'thinking_delta","thinking":'],
] as const

/** The prefix of text deltas in block 0. Most streams never need another, so all streams share this string. */
const FIRST_PREFIX = `${EVENT_LINE}${HEAD}0${DELTA}${FIELDS[0][1]}`

/** The last delta that was found and its frame. One object a stream, so that a delta costs no allocation. */
export class DeltaFinder implements Delta, Frame {
  kind: DeltaKind = 'text'
  index = 0
  text = EMPTY
  start = 0
  end = 0
  from = 0
  to = 0
  isNamed = true
  /** The text of the last delta's frame before its literal. Nearly every delta continues the block of the one before, so one comparison finds the next. */
  #prefix = FIRST_PREFIX

  get literal(): ByteString {
    return this.text
  }

  /** The text that the next delta of the same block begins with. */
  get prefix(): string {
    return this.#prefix
  }

  /** Drops the text: a stream that waits for its next chunk must not keep the last one alive. */
  forget(): void {
    this.text = EMPTY
  }

  /** True when a whole delta frame of the canonical shape starts at `start`; the fields then say where it ends and where its literal is. */
  find(text: ByteString, start: number): boolean {
    const from = text.startsWith(this.#prefix, start) ? start + this.#prefix.length : this.#readPrefix(text, start)
    const to = from === -1 ? -1 : stringEnd(text, from)
    const end = to === -1 ? -1 : frameEnd(text, to)
    if (end === -1) {
      return false
    }
    this.text = text
    this.start = start
    this.end = end
    this.from = from
    this.to = to
    return true
  }

  /** Where the literal begins, or -1. */
  #readPrefix(text: string, start: number): number {
    const event = text.startsWith(EVENT_LINE, start) ? EVENT_LINE : ''
    const indexAt = start + event.length + HEAD.length
    if (!text.startsWith(HEAD, start + event.length)) return -1
    const digits = digitsAt(text, indexAt)
    const fieldAt = indexAt + digits.length + DELTA.length
    if (digits === '' || !text.startsWith(DELTA, indexAt + digits.length)) return -1
    for (const [kind, field] of FIELDS) {
      if (!text.startsWith(field, fieldAt)) continue
      this.kind = kind
      this.index = Number(digits)
      this.isNamed = event !== ''
      this.#prefix = event + HEAD + digits + DELTA + field
      return fieldAt + field.length
    }
    return -1
  }
}

/** One to four digits as JSON allows them, or ''. */
function digitsAt(text: string, at: number): string {
  let end = at
  while (isDigit(text.charCodeAt(end))) end++
  const length = end - at
  const isNumber = length === 1 || (length > 1 && length <= 4 && text.charCodeAt(at) !== 48)
  // Made from the number, since a slice would keep the whole text alive.
  return isNumber ? String(Number(text.slice(at, end))) : ''
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57

const LF = 10
const CR = 13
const SPACE = 32
const QUOTE = 34
const BACKSLASH = 92
const CLOSING_BRACE = 125
/** The characters that may follow a backslash. */
const ESCAPE = /["\\/bfnrt]|u[0-9a-fA-F]{4}/y

/** Where the JSON string literal that opens at `from` ends, past its quote; -1 when it is not a valid literal. */
export function stringEnd(text: string, from: number): number {
  if (text.charCodeAt(from) !== QUOTE) return -1
  for (let at = from + 1; ; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at + 1
    if (code === BACKSLASH) {
      ESCAPE.lastIndex = at + 1
      if (!ESCAPE.test(text)) return -1
      at = ESCAPE.lastIndex - 1
    } else if (!(code >= SPACE)) return -1
  }
}

/** Where the frame ends, past its blank line, when only two closing braces, with spaces between them, stand before that; else -1. */
function frameEnd(text: string, at: number): number {
  if (text.charCodeAt(at) !== CLOSING_BRACE) return -1
  let next = at + 1
  while (text.charCodeAt(next) === SPACE) next++
  if (text.charCodeAt(next) !== CLOSING_BRACE) return -1
  const lineEnd = text.charCodeAt(next + 1)
  if (lineEnd === LF) return text.charCodeAt(next + 2) === LF ? next + 3 : -1
  return lineEnd === CR && text.startsWith(CRLF_TWICE, next + 1) ? next + 1 + CRLF_TWICE.length : -1
}

const CRLF_TWICE = '\r\n\r\n'
