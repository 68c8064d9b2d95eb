/**
 * The hot path of large reads: deltas that follow each other are found in the bytes themselves and written between the halves of a chunk, without making
 * a string. It accepts what `DeltaFinder` accepts, but only deltas of the same block as the last one and only LF as line end; `DeltaFinder` handles the rest.
 * Rules: native.md "Stream"; house.md "One stage".
 */

import type { ByteString } from '../bytes/byte-string.ts'
import type { ByteWriter } from '../bytes/byte-writer.ts'
import { EVENT_BYTES_MAX } from '../limits.ts'

/** The text before and after a JSON string literal. */
export type Template = Readonly<{ before: ByteString; after: ByteString }>

const LF = 0x0a
const SPACE = 0x20
const QUOTE = 0x22
const SLASH = 0x2f
const BACKSLASH = 0x5c
const CLOSING_BRACE = 0x7d
const WORD_BYTES = 4
/** The shortest rest of a frame behind the prefix: an empty literal, two braces and a blank line. */
const REST_BYTES_MIN = 6

/** One object serves all streams: nothing of a run is needed once `lift` has returned and `contentBytes` was read. */
export class DeltaRun {
  /** The bytes of the literals of the last run, without their quotes. */
  contentBytes = 0
  #prefix = ''
  #prefixBytes = new Uint8Array()
  /** The prefix again, as words of four bytes. */
  #words = new Int32Array()

  /** Writes the deltas that stand in `bytes` from `start` on, each beginning with `prefix`, and returns where the first other thing begins. */
  lift(bytes: Uint8Array, start: number, prefix: string, { before, after }: Template, out: ByteWriter): number {
    this.#know(prefix)
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const halves = before.length + after.length
    out.reserve(roomFor(bytes.length - start, prefix.length, halves))
    this.contentBytes = 0
    let end = start
    /** Where in `out` the end of one chunk and the beginning of the next stand together, to be copied from there; -1 until they were written once. */
    let joint = -1
    let isOpen = false
    while (this.#isKnown(bytes, view, end)) {
      const from = end + prefix.length
      const to = literalEnd(bytes, view, from)
      const next = to === -1 ? -1 : frameEnd(bytes, to)
      if (next === -1 || next - end > EVENT_BYTES_MAX) break
      end = next
      if (to - from === 2) continue
      this.contentBytes += to - from - 2
      if (joint === -1) {
        if (isOpen) {
          joint = out.length
          out.text(after)
        }
        out.text(before)
        isOpen = true
      } else out.again(joint, halves)
      out.copy(view, from, to)
    }
    if (isOpen) out.text(after)
    return end
  }

  #know(prefix: string): void {
    if (prefix === this.#prefix) return
    this.#prefix = prefix
    this.#prefixBytes = new Uint8Array(Buffer.from(prefix, 'latin1'))
    const view = new DataView(this.#prefixBytes.buffer)
    const length = Math.floor(prefix.length / WORD_BYTES)
    this.#words = Int32Array.from({ length }, (_, word) => view.getInt32(word * WORD_BYTES))
  }

  #isKnown(bytes: Uint8Array, view: DataView, start: number): boolean {
    const words = this.#words
    const prefix = this.#prefixBytes
    if (start + prefix.length + REST_BYTES_MIN > bytes.length) return false
    for (let word = 0, at = start; word < words.length; word++, at += WORD_BYTES) if (view.getInt32(at) !== words[word]) return false
    for (let at = words.length * WORD_BYTES; at < prefix.length; at++) if (bytes[start + at] !== prefix[at]) return false
    return true
  }
}

/** The most bytes that the deltas in so many bytes can become. */
const roomFor = (bytes: number, prefix: number, halves: number): number =>
  bytes + Math.ceil(bytes / (prefix + REST_BYTES_MIN)) * halves + halves + WORD_BYTES

/** This and `frameEnd` work as `stringEnd` and `frameEnd` in `delta.ts` do, without CRLF. */
function literalEnd(bytes: Uint8Array, view: DataView, from: number): number {
  if (bytes[from] !== QUOTE) return -1
  for (let at = plainEnd(view, from + 1); at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte === QUOTE) return at + 1
    if (byte === BACKSLASH) {
      at = escapeEnd(bytes, at + 1)
      if (at === -1) return -1
      at = plainEnd(view, at + 1) - 1
    } else if (byte < SPACE) return -1
  }
  return -1
}

const EACH = 0x01010101
const TOP = 0x80808080

/**
 * A place at most three bytes before the first quote, backslash or control character, or before the end; it tests four bytes at a time
 * (https://graphics.stanford.edu/~seander/bithacks.html#ZeroInWord).
 */
function plainEnd(view: DataView, from: number): number {
  const last = view.byteLength - WORD_BYTES
  let at = from
  for (; at <= last; at += WORD_BYTES) {
    const word = view.getInt32(at)
    const quote = word ^ (QUOTE * EACH)
    const backslash = word ^ (BACKSLASH * EACH)
    const found = ((quote - EACH) & ~quote) | ((backslash - EACH) & ~backslash) | ((word - SPACE * EACH) & ~word)
    if ((found & TOP) !== 0) break
  }
  return at
}

function frameEnd(bytes: Uint8Array, at: number): number {
  if (bytes[at] !== CLOSING_BRACE) return -1
  let next = at + 1
  while (bytes[next] === SPACE) next++
  return bytes[next] === CLOSING_BRACE && bytes[next + 1] === LF && bytes[next + 2] === LF ? next + 3 : -1
}

/** The last byte of the escape whose backslash stands before `at`; -1 when JSON has no such escape. */
function escapeEnd(bytes: Uint8Array, at: number): number {
  const byte = bytes[at] ?? 0
  if (byte !== U) return byte === QUOTE || byte === BACKSLASH || byte === SLASH || LETTERS.includes(byte) ? at : -1
  for (let digit = at + 1; digit <= at + 4; digit++) if (!isHexDigit(bytes[digit] ?? 0)) return -1
  return at + 4
}

const U = 0x75
/** b, f, n, r, t */
const LETTERS = [0x62, 0x66, 0x6e, 0x72, 0x74]

const isHexDigit = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66)
