/**
 * Text that arrives in pieces of JSON string literals, joined without decoding: the inside of literals may be concatenated, also where a pair of escaped
 * surrogates was cut in two. The bytes are copied, since a slice would keep the whole chunk that it came in alive.
 */

import { type ByteString, fromBytes, quoted } from '../../bytes/byte-string.ts'

const FIRST_BYTES = 512

export class LiteralText {
  #bytes = Buffer.alloc(0)
  #length = 0

  /** Adds a whole literal, quotes included. */
  add(literal: ByteString): void {
    const size = literal.length - 2
    if (this.#length + size > this.#bytes.length) this.#grow(this.#length + size)
    this.#length += this.#bytes.write(literal.slice(1, -1), this.#length, 'latin1')
  }

  get isEmpty(): boolean {
    return this.#length === 0
  }

  /** All of it as one literal. */
  literal(): ByteString {
    return quoted(fromBytes(this.#bytes.subarray(0, this.#length)))
  }

  #grow(bytes: number): void {
    const grown = Buffer.alloc(Math.max(FIRST_BYTES, 2 ** Math.ceil(Math.log2(bytes))))
    this.#bytes.copy(grown, 0, 0, this.#length)
    this.#bytes = grown
  }
}
