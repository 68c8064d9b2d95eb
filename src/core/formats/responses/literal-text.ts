/**
 * Text that arrives in pieces of JSON string literals, joined without decoding: the inside of literals may be concatenated, also where a pair of escaped
 * surrogates was cut in two. The bytes are copied exactly once: a slice would keep the whole chunk that it came in alive.
 */

import type { ByteString } from '../../bytes/byte-string.ts'
import { type Pieces, pieces, SHARED_BYTES_MIN } from './pieces.ts'

const FIRST_BYTES = 512

export class LiteralText {
  /** Buffers that are full, and literals that were long enough for a buffer of their own. */
  readonly #full: Uint8Array[] = []
  #last = Buffer.alloc(0)
  #length = 0

  /** Adds a whole literal, quotes included, and returns it for writing: a long one as the bytes that are kept here, so that they exist only once. */
  add(literal: ByteString): ByteString | Pieces {
    const size = literal.length - 2
    if (size >= SHARED_BYTES_MIN) return this.#addLong(literal)
    if (this.#length + size > this.#last.length) this.#makeRoom(size)
    this.#length += this.#last.write(literal.slice(1, -1), this.#length, 'latin1')
    return literal
  }

  get isEmpty(): boolean {
    return this.#length === 0 && this.#full.length === 0
  }

  /** The whole text as one literal. */
  literal(): Pieces {
    if (this.#full.length === 0) return pieces`"${this.#last.toString('latin1', 0, this.#length)}"`
    return pieces`"${[...this.#full, this.#last.subarray(0, this.#length)]}"`
  }

  #addLong(literal: ByteString): Pieces {
    this.#close()
    const inside = [Buffer.from(literal.slice(1, -1), 'latin1')]
    this.#full.push(...inside)
    return pieces`"${inside}"`
  }

  #makeRoom(size: number): void {
    if (this.#length + size > SHARED_BYTES_MIN) this.#close()
    const room = Buffer.alloc(Math.max(FIRST_BYTES, 2 ** Math.ceil(Math.log2(this.#length + size))))
    this.#last.copy(room, 0, 0, this.#length)
    this.#last = room
  }

  #close(): void {
    if (this.#length > 0) this.#full.push(this.#last.subarray(0, this.#length))
    this.#last = Buffer.alloc(0)
    this.#length = 0
  }
}
