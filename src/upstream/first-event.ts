/**
 * Looks at the beginning of a stream before the client sees any of it: an error that comes first is a failed call, and another upstream may be asked. Rules:
 * pool.md "Failover"; native.md "Stream", "Frames".
 */

import { firstChunk } from '../core/formats/chat/reverse/first-chunk.ts'
import { isObject } from '../core/json.ts'
import { readNativeError } from '../core/native/error.ts'
import { readNativeEvent } from '../core/native/event.ts'
import type { NamedModel } from '../core/native/scrubbed-text.ts'
import { readFrame } from '../core/sse/read-event.ts'
import { FrameSplitter, type OnFrame } from '../core/sse/split-frames.ts'
import { answerFault, errorEventFault } from './fault.ts'
import { type Body, type BodySink, type BodySource, type Fault, type Reply, WAITING_BYTES_MAX } from './upstream.ts'

const PART_BYTES = 2_048

/** Resolves with the same reply once its first event is here; with a fault where that event is an error, or where the stream ends or breaks before it. Never rejects. */
export function withFirstEvent(reply: Reply, model: NamedModel): Promise<Reply | Fault> {
  const { promise, resolve } = Promise.withResolvers<Reply | Fault>()
  const body: FirstEvent = new FirstEvent(reply, model, (fault) => resolve(fault ?? { ...reply, body }))
  body.look()
  return promise
}

class FirstEvent implements Body, BodySink {
  readonly #reply: Reply
  readonly #model: NamedModel
  readonly #splitter = new FrameSplitter()
  #decide: ((fault: Fault | undefined) => void) | undefined
  #waiting: Uint8Array[] = []
  #waitingBytes = 0
  #sink: BodySink | undefined
  #end: 'ended' | 'broken' | undefined

  constructor(reply: Reply, model: NamedModel, decide: (fault: Fault | undefined) => void) {
    this.#reply = reply
    this.#model = model
    this.#decide = decide
  }

  look(): void {
    this.#reply.body.take(this)
  }

  take(sink: BodySink): void {
    const waiting = this.#waiting
    this.#waiting = []
    this.#sink = sink
    if (this.#end === undefined) this.#reply.body.resume()
    for (const piece of waiting) sink.data(piece)
    this.#tellEnd()
  }

  data(piece: Uint8Array): void {
    if (this.#sink !== undefined) {
      this.#sink.data(piece)
      return
    }
    this.#waiting.push(piece)
    this.#waitingBytes += piece.byteLength
    this.#look(piece)
    // A first event that is longer than this is let through unread.
    if (this.#waitingBytes <= WAITING_BYTES_MAX) return
    this.#accept()
    this.#reply.body.pause()
  }

  /** Looks at small parts: a read may hold the whole stream, and nothing behind the first event is looked at here. */
  #look(piece: Uint8Array): void {
    for (let at = 0; at < piece.byteLength && this.#decide !== undefined; at += PART_BYTES) {
      const part = piece.byteLength <= PART_BYTES ? piece : piece.subarray(at, at + PART_BYTES)
      if (!this.#splitter.push(part, this.#onFrame)) this.#refuse(answerFault(this.#reply.upstream, 'stream'))
    }
  }

  end(): void {
    this.#end ??= 'ended'
    this.#refuse(answerFault(this.#reply.upstream, 'empty'))
    this.#tellEnd()
  }

  broken(): void {
    this.#end ??= 'broken'
    this.#refuse(answerFault(this.#reply.upstream, 'reset'))
    this.#tellEnd()
  }

  pause(): void {
    this.#reply.body.pause()
  }

  resume(): void {
    this.#reply.body.resume()
  }

  cancel(): void {
    this.#waiting = []
    this.#reply.body.cancel()
  }

  handOn(sink: BodySink): BodySource {
    return this.#reply.body.handOn(sink)
  }

  readonly #onFrame: OnFrame = (text, start, end) => {
    // Frames that came in the same read behind the first event are for the body's reader.
    if (this.#decide === undefined) return
    if (this.#reply.chat !== undefined) {
      this.#judgeChunk(firstChunk(readFrame(text, start, end)))
      return
    }
    const { dialect, hidesErrorText } = this.#reply
    const event = readNativeEvent(readFrame(text, start, end), dialect, hidesErrorText)
    if (event === undefined || (event !== 'malformed' && event.type === 'ping')) return
    if (event === 'malformed') this.#refuse(answerFault(this.#reply.upstream, 'malformed'))
    else if (event.type === 'error') this.#refuse(errorEventFault(this.#reply, readNativeError(event.body), this.#model))
    else {
      const fault = event.type === 'message_start' ? this.#otherModel(event.body['message']) : undefined
      if (fault === undefined) this.#accept()
      else this.#refuse(fault)
    }
  }

  #otherModel(message: unknown): Fault | undefined {
    return isObject(message) ? this.#reply.judgeModel?.(message['model']) : undefined
  }

  #judgeChunk(said: ReturnType<typeof firstChunk>): void {
    if (said === 'nothing') return
    if (said === 'malformed') this.#refuse(answerFault(this.#reply.upstream, said))
    else if ('error' in said) this.#refuse(errorEventFault(this.#reply, said.error, this.#model))
    else {
      const fault = this.#otherModel(said)
      if (fault === undefined) this.#accept()
      else this.#refuse(fault)
    }
  }

  #accept(): void {
    this.#decide?.(undefined)
    this.#decide = undefined
  }

  #refuse(fault: Fault): void {
    if (this.#decide === undefined) return
    const decide = this.#decide
    this.#decide = undefined
    if (this.#end === undefined) this.cancel()
    const { requestId } = this.#reply
    decide(requestId === undefined ? fault : { ...fault, requestId })
  }

  #tellEnd(): void {
    if (this.#end === 'ended') this.#sink?.end()
    else if (this.#end === 'broken') this.#sink?.broken()
  }
}
