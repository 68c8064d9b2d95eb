/** Adapts a `ReadableStream`, such as the body of `fetch` or of a `DecompressionStream`, to a `Body`, which pushes. Rules: platform.md "Rejections". */

import type { Body, BodySink, BodySource } from './upstream.ts'

type Reader = Readonly<{ read(): Promise<{ value?: Uint8Array | undefined }>; cancel(): Promise<void> }>

export class PulledBody implements Body {
  readonly #reader: Reader
  readonly #onOver: () => void
  #sink: BodySink | undefined
  #isPaused = false
  #isReading = false
  #isOver = false

  /** `onOver` is called once, when the body has ended, broken or been cancelled. */
  constructor(stream: ReadableStream<Uint8Array>, onOver: () => void = () => undefined) {
    this.#reader = stream.getReader()
    this.#onOver = onOver
  }

  take(sink: BodySink): void {
    this.#sink = sink
    this.#read()
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#read()
  }

  cancel(): void {
    this.#end()
    this.#reader.cancel().catch(() => undefined)
  }

  handOn(sink: BodySink): BodySource {
    this.#sink = sink
    return this
  }

  #read(): void {
    if (this.#sink === undefined || this.#isReading || this.#isPaused || this.#isOver) return
    this.#isReading = true
    this.#reader.read().then(
      ({ value }) => this.#took(value),
      () => this.#broke(),
    )
  }

  #took(piece: Uint8Array | undefined): void {
    this.#isReading = false
    if (this.#isOver) return
    if (piece === undefined) {
      this.#end()
      this.#sink?.end()
    } else {
      this.#sink?.data(piece)
      this.#read()
    }
  }

  #broke(): void {
    if (this.#isOver) return
    this.#end()
    this.#sink?.broken()
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#onOver()
  }
}
