/** A body that its source pushes. Bytes that arrive before the body has a reader are kept; they are few, because the source is paused. Rules: platform.md "Sockets". */

import { type Body, type BodySink, type BodySource, WAITING_BYTES_MAX } from './upstream.ts'

const NO_SOURCE: BodySource = {
  pause: () => undefined,
  resume: () => undefined,
  cancel: () => undefined,
  handOn: () => NO_SOURCE,
}

export class PushedBody implements Body, BodySink {
  readonly #source: BodySource
  #sink: BodySink | undefined
  #waiting: Uint8Array[] = []
  #waitingBytes = 0
  #end: 'ended' | 'broken' | 'cancelled' | undefined

  constructor(source: BodySource) {
    this.#source = source
  }

  /** A body that is complete. */
  static of(bytes: Uint8Array): PushedBody {
    const body = new PushedBody(NO_SOURCE)
    body.data(bytes)
    body.end()
    return body
  }

  take(sink: BodySink): void {
    const waiting = this.#waiting
    this.#waiting = []
    this.#sink = sink
    // The source is resumed before the sink gets its first bytes, because the sink may pause at once.
    if (this.#end === undefined) this.#source.resume()
    for (const piece of waiting) if (this.#end !== 'cancelled') sink.data(piece)
    this.#tellEnd()
  }

  data(piece: Uint8Array): void {
    if (this.#sink !== undefined) {
      this.#sink.data(piece)
      return
    }
    this.#waiting.push(piece)
    this.#waitingBytes += piece.length
    if (this.#waitingBytes > WAITING_BYTES_MAX) this.#source.pause()
  }

  end(): void {
    this.#end ??= 'ended'
    this.#tellEnd()
  }

  broken(): void {
    this.#end ??= 'broken'
    this.#tellEnd()
  }

  pause(): void {
    this.#source.pause()
  }

  resume(): void {
    this.#source.resume()
  }

  cancel(): void {
    if (this.#end !== undefined) return
    this.#end = 'cancelled'
    this.#waiting = []
    this.#source.cancel()
  }

  handOn(sink: BodySink): BodySource {
    return this.#source.handOn(sink)
  }

  #tellEnd(): void {
    if (this.#end === 'ended') this.#sink?.end()
    else if (this.#end === 'broken') this.#sink?.broken()
  }
}
