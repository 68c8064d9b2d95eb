/** A body that its door decodes: what comes out is native. Rules: doors.md "Answers". */

import type { BodyDecoder } from './doors/door.ts'
import type { Body, BodySink, BodySource } from './upstream.ts'

export class DecodedBody implements Body, BodySink {
  readonly #encoded: Body
  readonly #decoder: BodyDecoder
  #sink: BodySink | undefined
  #isOver = false

  constructor(encoded: Body, decoder: BodyDecoder) {
    this.#encoded = encoded
    this.#decoder = decoder
  }

  take(sink: BodySink): void {
    this.#sink = sink
    this.#encoded.take(this)
  }

  data(piece: Uint8Array): void {
    if (this.#isOver) return
    this.#hand(this.#decoder.push(piece))
    this.#break()
  }

  end(): void {
    if (this.#isOver) return
    this.#hand(this.#decoder.end())
    this.#break()
    if (this.#isOver) return
    this.#isOver = true
    this.#sink?.end()
  }

  broken(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#sink?.broken()
  }

  pause(): void {
    this.#encoded.pause()
  }

  resume(): void {
    this.#encoded.resume()
  }

  cancel(): void {
    this.#isOver = true
    this.#encoded.cancel()
  }

  /** This body stays between the source and `sink`, since it decodes every later piece, too. */
  handOn(sink: BodySink): BodySource {
    this.#sink = sink
    return this
  }

  #hand(native: Uint8Array): void {
    if (native.length > 0) this.#sink?.data(native)
  }

  /** What came before the break has been handed on, in the same step. */
  #break(): void {
    if (this.#isOver || !this.#decoder.isBroken) return
    this.#encoded.cancel()
    this.broken()
  }
}
