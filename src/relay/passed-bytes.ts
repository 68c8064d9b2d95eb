/**
 * What had no room in a running answer, kept for those who have all before it and are on their way: the last bytes of a stream from `from` on, at most as many as fit. A piece
 * is copied once, however many wait. Rules: requests.md "Joined answers".
 */

const FIRST_BYTES = 4_096

export class PassedBytes {
  readonly #bytesMax: number
  #bytes: Uint8Array
  /** Where in the stream the first of the bytes stands. */
  #from: number
  /** How many of the bytes are there. */
  #length: number

  constructor(from: number, bytesMax: number) {
    this.#bytesMax = bytesMax
    this.#bytes = new Uint8Array(FIRST_BYTES)
    this.#from = from
    this.#length = 0
  }

  /** Where in the stream the bytes end. */
  get end(): number {
    return this.#from + this.#length
  }

  /** False: there is no room for them. */
  add(bytes: Uint8Array): boolean {
    const length = this.#length + bytes.byteLength
    if (length > this.#bytesMax) return false
    if (length > this.#bytes.byteLength) {
      const grown = new Uint8Array(Math.min(this.#bytesMax, Math.max(length, 2 * this.#bytes.byteLength)))
      grown.set(this.#bytes.subarray(0, this.#length))
      this.#bytes = grown
    }
    this.#bytes.set(bytes, this.#length)
    this.#length = length
    return true
  }

  /** A copy of at most `bytesMax` of the bytes from `at` on; undefined: there are none. */
  read(at: number, bytesMax: number): Uint8Array | undefined {
    const first = at - this.#from
    return first < 0 || first >= this.#length ? undefined : this.#bytes.slice(first, Math.min(this.#length, first + bytesMax))
  }

  /** Forgets what comes before `at`. */
  forget(at: number): void {
    const gone = Math.min(this.#length, at - this.#from)
    if (gone <= 0) return
    this.#bytes.copyWithin(0, gone, this.#length)
    this.#from += gone
    this.#length -= gone
  }
}
