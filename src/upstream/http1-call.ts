/**
 * One request and its answer over a connection. Pushed: a read of the socket becomes a piece of the body in the same step, and the reader may pause the
 * socket. Rules: faults.md "Upstream calls"; platform.md "Sockets".
 */

import type { Connection, ConnectionUser } from './connection.ts'
import { AnswerParser } from './http1.ts'
import type { AnswerHead } from './http1-head.ts'
import type { BodySink, BodySource } from './upstream.ts'

export type CallEvents = Readonly<{
  /** The answer has begun; returns the sink that takes its body. */
  head(head: AnswerHead, source: BodySource): BodySink
  /** The answer will not begin. `isUnheard`: not one byte of it has come. */
  failed(cause: string, isUnheard: boolean): void
  /** Called once at the end: with the connection, if it can be used again. */
  over(connection: Connection | undefined): void
}>

export class Http1Call implements ConnectionUser, BodySource {
  readonly #connection: Connection
  readonly #events: CallEvents
  readonly #parser = new AnswerParser()
  #sink: BodySink | undefined
  #isHeard = false
  #isOver = false

  constructor(connection: Connection, request: readonly Uint8Array[], events: CallEvents) {
    this.#connection = connection
    this.#events = events
    connection.user = this
    connection.write(request)
  }

  received(bytes: Uint8Array): void {
    this.#isHeard = true
    const piece = this.#parser.push(bytes)
    if (this.#sink === undefined) {
      const head = this.#parser.takeHead()
      if (head !== undefined) this.#sink = this.#events.head(head, this)
    }
    if (piece !== undefined && !this.#isOver) this.#sink?.data(piece)
    if (this.#isOver) return
    if (this.#parser.isMalformed) this.#break('malformed')
    else if (this.#parser.isEnded) this.#end()
  }

  closed(how: 'ended' | 'reset'): void {
    if (this.#isOver) return
    if (how === 'ended' && this.#parser.close()) this.#end()
    else this.#break('reset')
  }

  pause(): void {
    if (!this.#isOver) this.#connection.pause()
  }

  resume(): void {
    if (!this.#isOver) this.#connection.resume()
  }

  cancel(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#connection.destroy()
    this.#events.over(undefined)
  }

  handOn(sink: BodySink): BodySource {
    this.#sink = sink
    return this
  }

  /** Called when the caller has given up. */
  abort(): void {
    this.#break('aborted')
  }

  #end(): void {
    this.#isOver = true
    // After an answer that came before the whole request was sent, the connection would take the rest of the request for the next one.
    const isReusable = this.#parser.isReusable && this.#connection.isFlushed && !this.#connection.isClosed
    if (!isReusable) this.#connection.end()
    this.#events.over(isReusable ? this.#connection : undefined)
    this.#sink?.end()
  }

  #break(cause: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#connection.destroy()
    this.#events.over(undefined)
    if (this.#sink === undefined) this.#events.failed(cause, !this.#isHeard)
    else this.#sink.broken()
  }
}
