/**
 * The bytes of one streamed answer: each piece from the upstream goes through the transcoder to the client's socket in the callback in which it was read.
 * While the client's socket is full, the upstream is paused. stream.ts decides. Rules: requests.md "Backpressure", "Terminal events"; house.md "One stage".
 */

import type { Refusal } from '../core/refusal.ts'
import { type Pushed, piecesOf, type StreamClose, type Transcoder, type Written } from '../core/transcoder.ts'
import type { BodySink, BodySource, Reply } from '../upstream/upstream.ts'
import type { ClientBody, ClientBodyUser } from './client-body.ts'
import type { Connection, Exchange } from './exchange.ts'
import type { RecordedAnswer } from './idempotency.ts'
import type { StreamTimes } from './stream-times.ts'

export type StreamFlowParts = Readonly<{
  transcoder: Transcoder
  exchange: Pick<Exchange, 'noteFirstByte'>
  connection: Pick<Connection, 'restore'>
  /** Records the answer for a repetition under the same `Idempotency-Key`; absent when the request has none. */
  kept?: Pick<RecordedAnswer, 'add'>
}>

/** The owner of the flow, which decides; the flow only moves bytes. */
export interface StreamFlowUser {
  readonly isDecided: boolean
  readonly hasLeft: boolean
  readonly times: StreamTimes
  /** The first bytes for the client are there, and its answer has not begun: begin it. */
  spoke(): void
  /** `message_start` has come. */
  began(nowMs: number): void
  /** `last` are the closing bytes, which wait for the settle. */
  whole(last: Written): void
  /** The upstream failed. */
  broke(refusal: Refusal, cause: 'reset' | 'stream'): void
  /** The client is gone. */
  left(): void
  /** A bug. */
  failed(error: unknown): void
  /** One of the times has changed: set the timer anew. */
  wait(): void
  nowMs(): number
}

/** A large read is processed in parts that fit the processor's cache. */
const PART_BYTES = 64 * 1024

type Closing = Readonly<{ bytes: Written | undefined }>

export class StreamFlow implements BodySink, ClientBodyUser {
  readonly #parts: StreamFlowParts
  readonly #user: StreamFlowUser
  #upstream: BodySource | undefined
  #client: ClientBody | undefined
  /** Bytes that came before the body of the client was open. The upstream is paused as soon as there are any. */
  #early: Written[] = []
  #closing: Closing | undefined
  #hasBegun = false

  constructor(parts: StreamFlowParts, user: StreamFlowUser) {
    this.#parts = parts
    this.#user = user
  }

  /** Puts `opening` before all other bytes for the client. */
  open(opening: Uint8Array): void {
    this.#early.unshift(opening)
  }

  /** Takes the upstream's stream. */
  answered(body: Reply['body']): void {
    this.#upstream = body
    this.#user.times.upstreamAtMs = this.#user.nowMs()
    body.take(this)
    // From here on the upstream's socket feeds this flow directly. The wrapper that looked at the first event is not needed any more and can be freed.
    this.#upstream = this.#upstream?.handOn(this)
  }

  opened(client: ClientBody): void {
    const { times, hasLeft } = this.#user
    const nowMs = this.#user.nowMs()
    this.#client = client
    times.isOpen = true
    times.clientAtMs = nowMs
    for (const written of this.#early.splice(0)) this.write(written, nowMs)
    if (hasLeft) client.breakOff()
    else if (this.#closing !== undefined) this.#closeClient(client, this.#closing)
    else if (!times.isClientFull) this.drained()
  }

  drained(): void {
    const { times } = this.#user
    times.isClientFull = false
    times.upstreamAtMs = this.#user.nowMs()
    this.readOn()
  }

  left(): void {
    this.#user.left()
  }

  data(piece: Uint8Array): void {
    if (this.#user.isDecided) return
    const nowMs = this.#user.nowMs()
    this.#user.times.upstreamAtMs = nowMs
    const { transcoder } = this.#parts
    try {
      if (piece.length <= PART_BYTES) this.#take(transcoder.push(piece), 'stream', nowMs)
      else this.#takeParts(piece, nowMs)
    } catch (error) {
      this.#user.failed(error)
    }
    if (transcoder.givesItsOwn) releaseBytes(piece)
  }

  end(): void {
    this.upstreamEnded('ended')
  }

  broken(): void {
    this.upstreamEnded('broken')
  }

  upstreamEnded(how: StreamClose): void {
    if (this.#user.isDecided) {
      this.over()
      return
    }
    try {
      this.#take(this.#parts.transcoder.end(how), how === 'broken' ? 'reset' : 'stream', this.#user.nowMs())
    } catch (error) {
      this.#user.failed(error)
    }
  }

  /** Writes to the client; without a client, only the time of the write is kept. */
  write(written: Written, nowMs: number): void {
    const { times } = this.#user
    times.clientAtMs = nowMs
    const isTaken = this.#client?.write(written)
    if (this.#parts.transcoder.givesItsOwn && written instanceof Uint8Array) releaseBytes(written)
    if (isTaken !== false || times.isClientFull) return
    times.isClientFull = true
    this.#upstream?.pause()
    this.#user.wait()
  }

  /** Resumes the upstream: the client is ready again, or what still comes is not for the client. */
  readOn(): void {
    this.#upstream?.resume()
    this.#user.wait()
  }

  /** Goes on after the client has left. `isOpen` is set, because the limits of an open stream hold all the same. */
  goOn(): void {
    this.#early = []
    this.#user.times.isOpen = true
    this.#user.times.leftDueMs = undefined
    this.drained()
  }

  stopUpstream(): void {
    this.#upstream?.cancel()
  }

  /** Drops the upstream, and its last time limit. */
  over(): void {
    this.#upstream = undefined
    this.#user.times.restDueMs = undefined
    this.#user.wait()
  }

  /** Writes the last bytes behind those that the client has not taken yet, then closes the client's body. */
  close(bytes: Written | undefined): void {
    if (bytes !== undefined) this.#keep(bytes)
    this.#closing = { bytes }
    if (this.#client !== undefined) this.#closeClient(this.#client, this.#closing)
  }

  breakOff(): void {
    this.#client?.breakOff()
  }

  #takeParts(piece: Uint8Array, nowMs: number): void {
    for (let at = 0; at < piece.length && !this.#user.isDecided; at += PART_BYTES)
      this.#take(this.#parts.transcoder.push(piece.subarray(at, at + PART_BYTES)), 'stream', nowMs)
  }

  #take({ now, last, fault }: Pushed, cause: 'reset' | 'stream', nowMs: number): void {
    if (now !== undefined) this.#keep(now)
    if (now !== undefined && !this.#user.hasLeft) this.#deliver(now, nowMs)
    const { observation } = this.#parts.transcoder
    if (last !== undefined) this.#user.whole(last)
    else if (fault !== undefined) this.#user.broke(fault, cause)
    else if (observation.hasStarted && !this.#hasBegun) {
      this.#hasBegun = true
      this.#user.began(nowMs)
    } else if (observation.stopReason !== undefined || observation.isFinished === true) this.#user.wait()
  }

  #deliver(written: Written, nowMs: number): void {
    this.#parts.exchange.noteFirstByte()
    if (this.#client !== undefined) {
      this.write(written, nowMs)
      return
    }
    this.#early.push(written)
    this.#upstream?.pause()
    this.#user.spoke()
  }

  #keep(written: Written): void {
    const { kept } = this.#parts
    if (kept === undefined) return
    for (const bytes of piecesOf(written)) kept.add(bytes)
  }

  #closeClient(client: ClientBody, { bytes }: Closing): void {
    if (bytes !== undefined) client.write(bytes)
    this.#parts.connection.restore()
    client.close()
  }
}

/** Smaller pieces are left to the collector. */
const LARGE_BYTES = 16 * 1024

/**
 * Releases the memory of large bytes as soon as they are used; they, and all others in the same buffer, must not be used afterwards. The collector would do it
 * some thousand events later, and until then every read would take fresh pages: a tenth of what an event of a burst costs. Rules: platform.md "Sockets".
 */
function releaseBytes(bytes: Uint8Array): void {
  if (bytes.length >= LARGE_BYTES && bytes.buffer instanceof ArrayBuffer) bytes.buffer.transfer(0)
}
