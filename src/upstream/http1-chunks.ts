/**
 * Reads a chunked body as it comes (https://www.rfc-editor.org/rfc/rfc9112#section-7.1). Where one read holds several chunks, they are moved together in place, so that
 * a read gives one piece and nothing is allocated. Extensions and trailers are checked, bounded and dropped. Rules: platform.md "Sockets".
 */

import { isField } from './http1-head.ts'

/** 52 bits: more than any body, and exact. */
const SIZE_DIGITS_MAX = 13
const EXTENSION_BYTES_MAX = 1_024
const TRAILER_BYTES_MAX = 16 * 1024

const CR = 0x0d
const LF = 0x0a
const SEMICOLON = 0x3b

/** What the next byte belongs to; `…End` waits for the LF of a line. */
type ChunkState = 'size' | 'extension' | 'sizeEnd' | 'data' | 'dataEnd' | 'dataLineEnd' | 'trailer' | 'trailerEnd' | 'ended'

export class ChunkReader {
  /** Where the data of the last read begins and ends, and the first byte behind all that was used of the read. */
  start = 0
  end = 0
  next = 0

  #place: ChunkState = 'size'
  #size = 0
  /** Counts the digits of the size, then the bytes of the extension. */
  #count = 0
  #trailer = ''
  #trailerBytes = 0

  get isEnded(): boolean {
    return this.#place === 'ended'
  }

  /** Reads `bytes` from `from` on, to their end or the body's, and moves the data in them together. False: malformed. */
  read(bytes: Uint8Array, from: number): boolean {
    this.start = from
    this.end = from
    let at = from
    while (at < bytes.length && this.#place !== 'ended') {
      if (this.#place === 'data') at = this.#take(bytes, at)
      else if (!this.#step(bytes[at++] ?? 0)) return false
    }
    this.next = at
    return true
  }

  #take(bytes: Uint8Array, at: number): number {
    const stop = Math.min(at + this.#size, bytes.length)
    if (this.start === this.end) {
      this.start = at
      this.end = stop
    } else {
      bytes.copyWithin(this.end, at, stop)
      this.end += stop - at
    }
    this.#size -= stop - at
    if (this.#size === 0) this.#place = 'dataEnd'
    return stop
  }

  #step(byte: number): boolean {
    switch (this.#place) {
      case 'size':
        return this.#stepOfSize(byte)
      case 'extension':
        return byte === CR ? this.#go('sizeEnd') : isText(byte) && ++this.#count <= EXTENSION_BYTES_MAX
      case 'sizeEnd':
        return byte === LF && this.#go(this.#size === 0 ? 'trailer' : 'data')
      case 'dataEnd':
        return byte === CR && this.#go('dataLineEnd')
      case 'dataLineEnd':
        this.#count = 0
        return byte === LF && this.#go('size')
      case 'trailer':
        return this.#stepOfTrailer(byte)
      case 'trailerEnd':
        return byte === LF && this.#endTrailer()
      case 'data':
      case 'ended':
        return false
    }
  }

  #stepOfSize(byte: number): boolean {
    const digit = hexDigit(byte)
    if (digit !== -1) {
      this.#size = this.#size * 16 + digit
      return ++this.#count <= SIZE_DIGITS_MAX
    }
    if (this.#count === 0) return false
    if (byte === SEMICOLON) this.#count = 0
    return byte === CR ? this.#go('sizeEnd') : byte === SEMICOLON && this.#go('extension')
  }

  #stepOfTrailer(byte: number): boolean {
    if (++this.#trailerBytes > TRAILER_BYTES_MAX) return false
    if (byte === CR) return this.#go('trailerEnd')
    this.#trailer += String.fromCharCode(byte)
    return true
  }

  #endTrailer(): boolean {
    const line = this.#trailer
    this.#trailer = ''
    return line === '' ? this.#go('ended') : isField(line) && this.#go('trailer')
  }

  #go(place: ChunkState): true {
    this.#place = place
    return true
  }
}

const isText = (byte: number): boolean => byte === 0x09 || (byte >= 0x20 && byte !== 0x7f)

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}
