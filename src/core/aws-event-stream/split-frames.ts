/**
 * Bytes to whole frames of `application/vnd.amazon.eventstream`, wherever the network cut them. A frame is its length, the length of its headers and the CRC of
 * both; headers and payload; and the CRC of all of that. Rules: native.md "Binary frames".
 */

import { BINARY_FRAME_BYTES_MAX } from '../limits.ts'

/** The CRC-32 that gzip uses; the caller passes the engine's own. */
export type Crc32 = (bytes: Uint8Array) => number

/** Where a frame's headers and payload stand in `bytes`: they are only valid during the call. `view`: the same bytes. */
export type OnBinaryFrame = (bytes: Uint8Array, view: DataView, headersAt: number, payloadAt: number, payloadEnd: number) => void

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
      const wanted = this.#openLength < PRELUDE_BYTES ? PRELUDE_BYTES : viewOf(this.#open).getUint32(0)
      at += this.#keep(chunk, at, Math.min(chunk.length, at + wanted - this.#openLength))
      if (this.#openLength < wanted) return true
      const frame = this.#open
      if (wanted > PRELUDE_BYTES) {
        this.#openLength = 0
        this.#open = EMPTY
        if (!this.#deliver(frame, viewOf(frame), 0, onFrame)) return false
      } else if (!isPrelude(viewOf(frame), 0)) return false
    }
    const view = viewOf(chunk)
    while (chunk.length - at >= PRELUDE_BYTES) {
      if (!isPrelude(view, at)) return false
      const end = at + view.getUint32(at)
      if (end > chunk.length) break
      if (!this.#deliver(chunk, view, at, onFrame)) return false
      at = end
    }
    if (at < chunk.length) this.#keep(chunk, at, chunk.length)
    return true
  }

  /** True where no frame is open: all bytes so far belong to whole frames. */
  get isBetweenFrames(): boolean {
    return this.#openLength === 0
  }

  #deliver(bytes: Uint8Array, view: DataView, at: number, onFrame: OnBinaryFrame): boolean {
    const crcAt = at + view.getUint32(at) - CRC_BYTES
    // A plain view: `subarray` of what a socket gives makes a Buffer, which takes several times as long.
    if (this.#crc32(new Uint8Array(bytes.buffer, bytes.byteOffset + at, crcAt - at)) !== view.getUint32(crcAt)) return false
    const headersAt = at + PRELUDE_BYTES
    onFrame(bytes, view, headersAt, headersAt + view.getUint32(at + 4), crcAt)
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
const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView => new DataView(buffer, byteOffset, byteLength)

function isPrelude(view: DataView, at: number): boolean {
  const length = view.getUint32(at)
  const headers = view.getUint32(at + 4)
  if (length < FRAME_BYTES_MIN || length > BINARY_FRAME_BYTES_MAX) return false
  if (headers > length - FRAME_BYTES_MIN || headers > HEADERS_BYTES_MAX) return false
  return crcOfLengths(view, at) === view.getUint32(at + 8)
}

/** The polynomial of CRC-32, reversed (https://www.rfc-editor.org/rfc/rfc1952#section-8). */
const POLYNOMIAL = 0xed_b8_83_20
const CRCS = new Uint32Array(256).map((_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 0 ? crc >>> 1 : (crc >>> 1) ^ POLYNOMIAL
  return crc
})

/** The CRC of a frame's two lengths. For eight bytes a view costs more than the table. */
function crcOfLengths(view: DataView, from: number): number {
  let crc = -1
  for (let at = from; at < from + 8; at++) crc = (CRCS[(crc ^ view.getUint8(at)) & 0xff] ?? 0) ^ (crc >>> 8)
  return ~crc >>> 0
}
