/**
 * An answer's body on its way, pushed to whoever takes it: a piece is handed on in the step in which it was read, and who has enough pauses. What comes before
 * anybody has taken it waits, little of it. Rules: platform.md "Sockets"; requests.md "Backpressure".
 */

import { Parts } from './read-chunks.ts'

/** Where a body goes. Nothing comes after `end` or `broken`. */
export interface BodySink {
  data(piece: Uint8Array): void
  end(): void
  broken(): void
}

/** Where a body comes from. Pieces of the read that is under way may still come after `pause`. */
export interface BodySource {
  pause(): void
  resume(): void
  /** The body is not wanted any more; the sink hears nothing of it. */
  cancel(): void
}

export interface ReplyBody extends BodySource {
  /** Once. What has come already is pushed before this returns. */
  into(sink: BodySink): void
}

/** What may wait before the source is paused; one read, which is half a megabyte at most, can come on top of it. */
export const WAITING_BYTES_MAX = 64 * 1024

/** What a socket pushes. */
export class PushedBody implements BodySink, ReplyBody {
  readonly #source: BodySource
  #waiting: Uint8Array[] = []
  #waitingBytes = 0
  #end: 'end' | 'broken' | undefined
  #sink: BodySink | undefined
  #isCancelled = false

  constructor(source: BodySource) {
    this.#source = source
  }

  into(sink: BodySink): void {
    this.#sink = sink
    const waiting = this.#waiting
    this.#waiting = []
    for (const piece of waiting) if (!this.#isCancelled) sink.data(piece)
    if (this.#isCancelled) return
    if (this.#end !== undefined) sink[this.#end]()
    else if (this.#waitingBytes > WAITING_BYTES_MAX) this.resume()
  }

  data(piece: Uint8Array): void {
    if (this.#isCancelled) return
    if (this.#sink !== undefined) {
      this.#sink.data(piece)
      return
    }
    this.#waiting.push(piece)
    this.#waitingBytes += piece.length
    if (this.#waitingBytes > WAITING_BYTES_MAX) this.pause()
  }

  end(): void {
    this.#finish('end')
  }

  broken(): void {
    this.#finish('broken')
  }

  pause(): void {
    this.#source.pause()
  }

  resume(): void {
    this.#source.resume()
  }

  cancel(): void {
    this.#isCancelled = true
    this.#waiting = []
    this.#source.cancel()
  }

  #finish(end: 'end' | 'broken'): void {
    if (this.#isCancelled || this.#end !== undefined) return
    this.#end = end
    this.#sink?.[end]()
  }
}

/** What has to be pulled: of `fetch`, or out of a decoder. */
export class PulledBody implements ReplyBody {
  readonly stream: ReadableStream<Uint8Array>
  #reader: { cancel(): Promise<void> } | undefined
  #isCancelled = false
  #resumed: PromiseWithResolvers<void> | undefined

  constructor(stream: ReadableStream<Uint8Array>) {
    this.stream = stream
  }

  into(sink: BodySink): void {
    this.#push(sink).catch(() => {
      if (!this.#isCancelled) sink.broken()
    })
  }

  pause(): void {
    this.#resumed ??= Promise.withResolvers()
  }

  resume(): void {
    this.#resumed?.resolve()
    this.#resumed = undefined
  }

  cancel(): void {
    this.#isCancelled = true
    this.resume()
    const reader = this.#reader ?? this.stream
    reader.cancel().catch(() => undefined)
  }

  async #push(sink: BodySink): Promise<void> {
    const reader = this.stream.getReader()
    this.#reader = reader
    for (let read = await reader.read(); read.value !== undefined; read = await reader.read()) {
      if (this.#isCancelled) return
      sink.data(read.value)
      await this.#resumed?.promise
    }
    if (!this.#isCancelled) sink.end()
  }
}

/** A body that is here. */
export const bodyOf = (bytes: Uint8Array): ReplyBody => ({
  into(sink) {
    sink.data(bytes)
    sink.end()
  },
  pause: () => undefined,
  resume: () => undefined,
  cancel: () => undefined,
})

/** The whole of a body of at most `bytesMax`; else why there is none. `grow` hears how long it is by now and may stop it. Never rejects. */
export function wholeOf<Stop = never>(
  body: ReplyBody,
  bytesMax: number,
  grow: (length: number) => Stop | undefined = () => undefined,
): Promise<Uint8Array | 'broken' | 'too-large' | Stop> {
  const { promise, resolve } = Promise.withResolvers<Uint8Array | 'broken' | 'too-large' | Stop>()
  const parts = new Parts()
  body.into({
    data(piece) {
      parts.add(piece)
      const stop = parts.length > bytesMax ? 'too-large' : grow(parts.length)
      if (stop === undefined) return
      body.cancel()
      resolve(stop)
    },
    end: () => resolve(parts.joined()),
    broken: () => resolve('broken'),
  })
  return promise
}

/** What comes of a body until `bytesMax` are here or `waitMs` have passed; a broken one is as good as one that ended there. */
export function beginningOf(body: ReplyBody, bytesMax: number, waitMs: number): Promise<Uint8Array> {
  const { promise, resolve } = Promise.withResolvers<Uint8Array>()
  const parts = new Parts()
  const end = (): void => {
    clearTimeout(timer)
    resolve(parts.joined())
  }
  const stop = (): void => {
    body.cancel()
    end()
  }
  const timer = setTimeout(stop, waitMs)
  body.into({
    data(piece) {
      parts.add(piece)
      if (parts.length > bytesMax) stop()
    },
    end,
    broken: end,
  })
  return promise
}
