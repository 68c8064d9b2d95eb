/** A pushed body as a stream that is pulled. Little waits in it: a reader that stands still pauses the socket. Rules: platform.md "Sockets". */

import { type BodySink, type BodySource, WAITING_BYTES_MAX } from './upstream.ts'

export class BodyStream implements BodySink {
  readonly stream: ReadableStream<Uint8Array>

  readonly #source: BodySource
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #isAwaited = false
  #waitingBytes = 0
  #isOver = false

  constructor(source: BodySource) {
    this.#source = source
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        // The stream has no size to fill up to, so `pull` is called only by a read that finds nothing.
        pull: () => {
          this.#isAwaited = true
          this.#waitingBytes = 0
          source.resume()
        },
        cancel: () => {
          this.#isOver = true
          source.cancel()
        },
      },
      { highWaterMark: 0 },
    )
  }

  data(piece: Uint8Array): void {
    if (this.#isOver) return
    if (!this.#isAwaited) this.#waitingBytes += piece.length
    this.#isAwaited = false
    this.#controller?.enqueue(piece)
    if (this.#waitingBytes > WAITING_BYTES_MAX) this.#source.pause()
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#controller?.close()
  }

  broken(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#controller?.error(new Error('the body was cut off'))
  }
}
