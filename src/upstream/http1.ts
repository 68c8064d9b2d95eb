/**
 * One HTTP/1.x answer, from bytes as the network cut them to a head and pieces of body. Pure: it knows no socket. Bodies are never decoded and, but for
 * small pieces and chunks that are moved together, never copied. Rules: platform.md "Sockets"; https://www.rfc-editor.org/rfc/rfc9112#section-6.
 */

import { fromBytes } from '../core/bytes/byte-string.ts'
import { ChunkReader } from './http1-chunks.ts'
import { type AnswerHead, type Framing, framingOf, isKeptAlive, readHead } from './http1-head.ts'

/** The most bytes of all heads of an answer together, interim ones too, whose number nothing else bounds. */
const HEAD_BYTES_MAX = 64 * 1024

/** The end of the last field and an empty line. */
const BLANK_LINE = '\r\n\r\n'
const CR = 0x0d
const LF = 0x0a

export class AnswerParser {
  #head: AnswerHead | undefined
  #isKept = false
  #state: 'head' | 'body' | 'ended' | 'malformed' = 'head'
  #framing: Framing = 0
  #chunks: ChunkReader | undefined
  /** The earlier reads of an unfinished head. */
  #pieces: Uint8Array[] = []
  #headBytes = 0
  /** How much of the blank line that ends a head was seen: 1 CR, 2 CR LF, 3 CR LF CR. */
  #blank = 0
  #hasSurplus = false

  get isEnded(): boolean {
    return this.#state === 'ended'
  }

  /** Whether the answer is malformed: from here on neither it nor its connection can be trusted. */
  get isMalformed(): boolean {
    return this.#state === 'malformed'
  }

  /** Whether the next answer may come over the same connection: unexpected bytes would be taken for that answer. */
  get isReusable(): boolean {
    return this.isEnded && !this.#hasSurplus && this.#framing !== 'close' && this.#isKept
  }

  /** Called once, as soon as the head is known. Interim answers (1xx) are skipped. */
  takeHead(): AnswerHead | undefined {
    const head = this.#head
    this.#head = undefined
    return head
  }

  /** The part of the body in `bytes`, as one piece, or undefined. The parser owns `bytes` from now on: it moves chunks inside them. */
  push(bytes: Uint8Array): Uint8Array | undefined {
    const start = this.#state === 'head' ? this.#readHeads(bytes) : 0
    if (this.#state === 'body') return this.#readBody(bytes, start)
    if (this.#state === 'ended' && start < bytes.length) this.#hasSurplus = true
    return undefined
  }

  /** The other side has closed in order. Returns whether the answer may end here. */
  close(): boolean {
    if (this.#state === 'body' && this.#framing === 'close') this.#state = 'ended'
    return this.isEnded
  }

  /** The position behind the head; the end of `bytes` while it is not whole. */
  #readHeads(bytes: Uint8Array): number {
    let start = 0
    while (this.#state === 'head') {
      const end = this.#endOfHead(bytes, start)
      const stop = end === -1 ? bytes.length : end
      this.#headBytes += stop - start
      if (this.#headBytes > HEAD_BYTES_MAX) this.#state = 'malformed'
      else if (end !== -1) this.#takeHead(this.#headText(bytes, start, end))
      else if (start < bytes.length) this.#pieces.push(bytes.subarray(start))
      if (end === -1) return bytes.length
      start = stop
    }
    return start
  }

  #endOfHead(bytes: Uint8Array, from: number): number {
    let at = from
    if (this.#blank === 0) {
      const whole: number = indexOf.call(bytes, BLANK_LINE, from, 'latin1')
      if (whole !== -1) return whole + BLANK_LINE.length
      // Only the last bytes can be a part of the blank line.
      at = Math.max(from, bytes.length - (BLANK_LINE.length - 1))
    }
    for (; at < bytes.length; at++) {
      const byte = bytes[at]
      if (byte === CR) this.#blank = this.#blank === 2 ? 3 : 1
      else if (byte === LF && this.#blank === 3) return at + 1
      else this.#blank = byte === LF && this.#blank === 1 ? 2 : 0
    }
    return -1
  }

  /** The text of the head, without the blank line that ends it. */
  #headText(bytes: Uint8Array, start: number, end: number): string {
    if (this.#pieces.length === 0) return fromBytes(bytes, start, end - BLANK_LINE.length)
    const whole = Buffer.concat([...this.#pieces, bytes.subarray(start, end)])
    this.#pieces = []
    return fromBytes(whole, 0, whole.length - BLANK_LINE.length)
  }

  #takeHead(text: string): void {
    this.#blank = 0
    const head = readHead(text)
    const isInterim = head !== undefined && head.status < 200
    // 101 is not skipped like other interim answers: the gateway never asks for a switch of protocols.
    if (isInterim && head.status !== 101) return
    const framing = head === undefined || isInterim ? undefined : framingOf(head)
    this.#state = framing === undefined ? 'malformed' : framing === 0 ? 'ended' : 'body'
    if (framing === undefined) return
    this.#head = head
    this.#isKept = head !== undefined && isKeptAlive(head)
    this.#framing = framing
    if (framing === 'chunked') this.#chunks = new ChunkReader()
  }

  #readBody(bytes: Uint8Array, start: number): Uint8Array | undefined {
    if (this.#chunks !== undefined) return this.#readChunks(this.#chunks, bytes, start)
    const end = typeof this.#framing === 'number' ? Math.min(start + this.#framing, bytes.length) : bytes.length
    if (typeof this.#framing === 'number') {
      this.#framing -= end - start
      if (this.#framing === 0) this.#state = 'ended'
    }
    this.#hasSurplus = end < bytes.length
    return pieceOf(bytes, start, end)
  }

  #readChunks(chunks: ChunkReader, bytes: Uint8Array, start: number): Uint8Array | undefined {
    if (!chunks.read(bytes, start)) this.#state = 'malformed'
    else if (chunks.isEnded) {
      this.#state = 'ended'
      this.#hasSurplus = chunks.next < bytes.length
    }
    return pieceOf(bytes, chunks.start, chunks.end)
  }
}

/** Above this size the engine keeps an array's bytes apart, and a copy costs as much as a view. */
const COPIED_BYTES_MAX = 1_000
/** Copies without a view: at the first view of a small read the engine moves the read's bytes, which takes three times as long. */
const { slice } = Uint8Array.prototype
/** Buffer's search is native code, and finds several bytes; that of Uint8Array finds a single one. */
const { indexOf } = Buffer.prototype

function pieceOf(bytes: Uint8Array, start: number, end: number): Uint8Array | undefined {
  if (start === end) return undefined
  if (start === 0 && end === bytes.length) return bytes
  // Few bytes are copied faster than a view of them is made. The view is a Uint8Array, since a Buffer costs half as much again.
  return end - start <= COPIED_BYTES_MAX
    ? slice.call(bytes, start, end)
    : new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start)
}
