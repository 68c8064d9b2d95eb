/**
 * The body of a server that speaks chat as a native one. Its figures come behind the end, so that the end is held until they have come, but not for ever.
 * Rules: openai.md "Ends"; platform.md "Sockets".
 */

import { NativeStream } from '../core/formats/chat/reverse/native-stream.ts'
import { NO_TICK, type Timed, type TimerWheel } from '../core/timer-wheel.ts'
import type { Body, BodySink, BodySource, Reply } from '../upstream/upstream.ts'

export type NativeBodyParts = Readonly<{
  wheel: TimerWheel
  nowMs: () => number
  /** How long the usage is waited for. */
  waitMs: number
}>

/** Makes native streams of those of servers that speak chat; any other reply stays. */
export const nativeReader =
  (requestId: string, parts: NativeBodyParts) =>
  (reply: Reply): Reply => {
    const { chat, ...native } = reply
    if (chat === undefined) return reply
    const stream = new NativeStream({ reasoning: chat.reasoning, id: requestId.replace(/^req_/, 'msg_') })
    return { ...native, body: new NativeBody(reply.body, stream, parts) }
  }

class NativeBody implements Body, BodySink, Timed {
  tick = NO_TICK
  readonly #chat: Body
  readonly #stream: NativeStream
  readonly #parts: NativeBodyParts
  #sink: BodySink | undefined
  #isOver = false

  constructor(chat: Body, stream: NativeStream, parts: NativeBodyParts) {
    this.#chat = chat
    this.#stream = stream
    this.#parts = parts
  }

  take(sink: BodySink): void {
    this.#sink = sink
    this.#chat.take(this)
  }

  data(piece: Uint8Array): void {
    if (this.#isOver || this.#stream.isEnded) return
    this.#hand(this.#stream.push(piece))
    this.#wait()
  }

  end(): void {
    if (!this.#close()) return
    this.#hand(this.#stream.end('ended'))
    this.#sink?.end()
  }

  broken(): void {
    if (!this.#close()) return
    const rest = this.#stream.end('broken')
    // What it would say of a stream that is not whole, the reader says itself.
    if (this.#stream.isWhole) this.#hand(rest)
    this.#sink?.broken()
  }

  onTime(): void {
    this.#hand(this.#stream.end('ended'))
  }

  /** What may have come already waits for a slow client as well. */
  pause(): void {
    this.#parts.wheel.drop(this)
    this.#chat.pause()
  }

  resume(): void {
    this.#wait()
    this.#chat.resume()
  }

  cancel(): void {
    this.#close()
    this.#chat.cancel()
  }

  /** It stays between: every later piece is read as well. */
  handOn(sink: BodySink): BodySource {
    this.#sink = sink
    return this
  }

  #wait(): void {
    const { wheel, nowMs, waitMs } = this.#parts
    if (this.#stream.isFinished && !this.#isOver) wheel.set(this, nowMs() + waitMs)
    else if (this.tick !== NO_TICK) wheel.drop(this)
  }

  #close(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.#parts.wheel.drop(this)
    return true
  }

  #hand(native: Uint8Array): void {
    if (native.length > 0) this.#sink?.data(native)
  }
}
