/**
 * Makes the body of a server that speaks chat a native one. Such a server sends its usage after the end of the answer, so the end is held until the usage has come, but
 * not for ever. Rules: openai.md "Ends"; platform.md "Sockets".
 */

import { NativeStream } from '../core/formats/chat/reverse/native-stream.ts'
import { NO_TICK, type Timed, type TimerWheel } from '../core/timer-wheel.ts'
import type { Body, BodySink, BodySource, Reply } from '../upstream/upstream.ts'

export type NativeBodyParts = Readonly<{
  wheel: TimerWheel
  nowMs: () => number
  /** How long the end waits for the usage. */
  waitMs: number
}>

/** Makes a native stream of the stream of a server that speaks chat; any other reply stays as it is. */
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
    // The last bytes of a stream that is not whole are dropped: its reader reports the break itself.
    if (this.#stream.isWhole) this.#hand(rest)
    this.#sink?.broken()
  }

  onTime(): void {
    this.#hand(this.#stream.end('ended'))
  }

  /** Stops the wait for the usage, too: while the client is slow, the usage may have come and not been read. */
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

  /** This body stays between the source and `sink`, since it translates every later piece, too. */
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
