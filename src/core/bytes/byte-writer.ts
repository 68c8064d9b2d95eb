/**
 * Bytes that are put together piece by piece, in memory that is reused: a small output is given as a copy, a large one with the memory that it stands in.
 * Rules: platform.md "Byte strings".
 */

import type { ByteString } from './byte-string.ts'

/** From this size on, copying the output costs more than allocating new memory for the next. */
const LARGE_BYTES = 16 * 1024

/** Up to this many bytes, a loop over words of four copies faster than a call of `set`. */
const FEW_BYTES = 256
const WORD_BYTES = 4

export class ByteWriter {
  bytes: Uint8Array = memoryOf(LARGE_BYTES)
  length = 0
  #view = viewOf(this.bytes)

  /** Makes room for `more` bytes. */
  reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return
    const larger = memoryOf(Math.max(this.length + more, LARGE_BYTES))
    if (this.length > 0) larger.set(this.bytes.subarray(0, this.length))
    this.bytes = larger
    this.#view = viewOf(larger)
  }

  /** Forgets what was written. */
  clear(): void {
    this.length = 0
  }

  /** Writes text. This and the other writing methods need room that `reserve` made. */
  text(text: ByteString): void {
    this.length += latin1Write.call(this.bytes, text, this.length)
  }

  /** Writes the bytes that the base64 encodes; false where it is not base64. It needs as much room as the base64 text itself. */
  base64(text: string): boolean {
    try {
      this.length += setFromBase64.call(new Uint8Array(this.bytes.buffer, this.bytes.byteOffset + this.length), text).written
      return true
    } catch {
      return false
    }
  }

  /** Writes again the `length` bytes that were written at `from`. */
  again(from: number, length: number): void {
    this.bytes.copyWithin(this.length, from, from + length)
    this.length += length
  }

  /** Copies `source[from, to)`. It copies in words, so room and source must extend a word beyond the end. */
  copy(source: DataView, from: number, to: number): void {
    const length = to - from
    if (length > FEW_BYTES) this.bytes.set(new Uint8Array(source.buffer, source.byteOffset + from, length), this.length)
    else {
      const target = this.#view
      for (let at = 0; at < length; at += WORD_BYTES) target.setInt32(this.length + at, source.getInt32(from + at))
    }
    this.length += length
  }

  /** Takes what was written; the bytes then belong to the caller. */
  take(): Uint8Array {
    const { bytes, length } = this
    this.length = 0
    if (length < LARGE_BYTES) return slice.call(bytes, 0, length)
    this.bytes = NO_BYTES
    this.#view = NO_VIEW
    return bytes.subarray(0, length)
  }
}

/** A plain array over memory that is not cleared: a slice of a Buffer takes three times as long. */
const memoryOf = (length: number): Uint8Array => new Uint8Array(Buffer.allocUnsafeSlow(length).buffer)
const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView => new DataView(buffer, byteOffset, byteLength)
const NO_BYTES = new Uint8Array()
const NO_VIEW = viewOf(NO_BYTES)
const { latin1Write } = Buffer.prototype
const { slice, setFromBase64 } = Uint8Array.prototype
