/**
 * Bytes to whole frames of `application/vnd.amazon.eventstream`, wherever the network cut them. A frame is its length, the length of its headers and the CRC of
 * both; headers and payload; and the CRC of all of that. Rules: native.md "Binary frames".
 */

import { BINARY_FRAME_BYTES_MAX } from '../limits.ts'

/** The CRC-32 that gzip uses; the caller passes the engine's own. */
export type Crc32 = (bytes: Uint8Array) => number

/** Where a frame's headers and payload stand in `bytes`: they are only valid during the call. */
export type OnBinaryFrame = (bytes: Uint8Array, headersAt: number, payloadAt: number, payloadEnd: number) => void

const PRELUDE_BYTES = 12
const CRC_BYTES = 4
const FRAME_BYTES_MIN = PRELUDE_BYTES + CRC_BYTES
const HEADERS_BYTES_MAX = 128 * 1024

export class BinaryFrameSplitter {
  readonly #crc32: Crc32
  /** The open frame. Its buffer grows with the bytes that have come, not with the length that the frame claims. */
  #open: Uint8Array = EMPTY
  #openLength = 0

  constructor(crc32: Crc32) {
    this.#crc32 = crc32
  }

  /** False when a frame is invalid: its lengths or a CRC are wrong. The splitter must not be fed again. */
  push(chunk: Uint8Array, onFrame: OnBinaryFrame): boolean {
    let at = 0
    while (this.#openLength > 0 && at < chunk.length) {
      const wanted = this.#openLength < PRELUDE_BYTES ? PRELUDE_BYTES : lengthAt(this.#open, 0)
      at += this.#keep(chunk, at, Math.min(chunk.length, at + wanted - this.#openLength))
      if (this.#openLength < wanted) return true
      if (wanted > PRELUDE_BYTES) {
        const frame = this.#open
        this.#openLength = 0
        this.#open = EMPTY
        if (!this.#deliver(frame, 0, onFrame)) return false
      } else if (!this.#isPrelude(this.#open, 0)) return false
    }
    for (; chunk.length - at >= PRELUDE_BYTES; at += lengthAt(chunk, at)) {
      if (!this.#isPrelude(chunk, at)) return false
      if (chunk.length - at < lengthAt(chunk, at)) break
      if (!this.#deliver(chunk, at, onFrame)) return false
    }
    this.#keep(chunk, at, chunk.length)
    return true
  }

  /** True where no frame is open: all bytes so far belong to whole frames. */
  get isBetweenFrames(): boolean {
    return this.#openLength === 0
  }

  #isPrelude(bytes: Uint8Array, at: number): boolean {
    const length = lengthAt(bytes, at)
    const headers = lengthAt(bytes, at + 4)
    if (length < FRAME_BYTES_MIN || length > BINARY_FRAME_BYTES_MAX) return false
    if (headers > length - FRAME_BYTES_MIN || headers > HEADERS_BYTES_MAX) return false
    return this.#crc32(bytes.subarray(at, at + 8)) === lengthAt(bytes, at + 8)
  }

  #deliver(bytes: Uint8Array, at: number, onFrame: OnBinaryFrame): boolean {
    const crcAt = at + lengthAt(bytes, at) - CRC_BYTES
    if (this.#crc32(bytes.subarray(at, crcAt)) !== lengthAt(bytes, crcAt)) return false
    const headersAt = at + PRELUDE_BYTES
    onFrame(bytes, headersAt, headersAt + lengthAt(bytes, at + 4), crcAt)
    return true
  }

  #keep(chunk: Uint8Array, from: number, to: number): number {
    const length = this.#openLength + to - from
    if (length > this.#open.length) {
      const larger = new Uint8Array(Math.max(length, 2 * this.#open.length))
      larger.set(this.#open.subarray(0, this.#openLength))
      this.#open = larger
    }
    this.#open.set(chunk.subarray(from, to), this.#openLength)
    this.#openLength = length
    return to - from
  }
}

const EMPTY = new Uint8Array()

/** An unsigned number of four bytes, the most significant first. */
const lengthAt = (bytes: Uint8Array, at: number): number =>
  (byteAt(bytes, at) * 0x1_00_00_00 + ((byteAt(bytes, at + 1) << 16) | (byteAt(bytes, at + 2) << 8) | byteAt(bytes, at + 3))) >>> 0

const byteAt = (bytes: Uint8Array, at: number): number => bytes[at] ?? 0
