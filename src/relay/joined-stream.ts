/**
 * A repetition that joins a running stream: it gets the bytes that were sent so far, then those that come, at the pace of its own client. Bytes that its client has not
 * taken wait in the running answer, which all joined requests share. Rules: requests.md "Joined answers", "Backpressure", "Heartbeats".
 */

import { NO_TICK, type Timed } from '../core/timer-wheel.ts'
import type { World } from '../world.ts'
import { type ClientBody, type ClientBodyUser, clientBody } from './client-body.ts'
import type { Connection } from './exchange.ts'
import type { Follower } from './follower.ts'
import type { LiveStream } from './live-streams.ts'
import type { RunningAnswer } from './running-answer.ts'
import { OPENING } from './stream-head.ts'
import type { Timings } from './timings.ts'

export type JoinedStreamParts = Readonly<{
  world: World
  key: LiveStream['key']
  connection: Pick<Connection, 'restore' | 'drop'>
  answer: RunningAnswer
  timings: Pick<Timings, 'heartbeatIdleMs'>
  /** Called once, when the client has the end or is gone. */
  onEnd: () => void
}>

/** The most that is written to a socket beyond what it takes. */
const PIECE_BYTES = 64 * 1024
/** How long a stream of another relay may take to end where this one is stopped. */
const STOP_MS = 2_000

export class JoinedStream implements LiveStream, ClientBodyUser, Follower, Timed {
  tick = NO_TICK
  readonly whenEnded: Promise<void>
  readonly #parts: JoinedStreamParts
  readonly #end: () => void
  #totalDueMs: number
  #client: ClientBody | undefined
  #sentAtMs: number
  /** How many bytes of the answer were written to the client. */
  #at = 0
  #isFull = false
  #isStopped = false
  #isOver = false

  constructor(parts: JoinedStreamParts) {
    this.#parts = parts
    const ended = Promise.withResolvers<void>()
    this.whenEnded = ended.promise
    this.#end = ended.resolve
    this.#sentAtMs = this.#nowMs()
    this.#totalDueMs = this.#sentAtMs + parts.world.limits().totalTimeoutMs
    parts.answer.follow(this)
    this.#wait()
  }

  get key(): LiveStream['key'] {
    return this.#parts.key
  }

  body(): ReadableStream<Uint8Array> {
    return clientBody(this)
  }

  opened(client: ClientBody): void {
    this.#client = client
    if (this.#isOver) client.breakOff()
    // The server does not send a head without bytes of the body.
    else if (this.#parts.answer.length === 0) this.#write(OPENING)
    this.grew()
  }

  drained(): void {
    this.#isFull = false
    this.grew()
  }

  left(): void {
    this.#over()
  }

  grew(): void {
    if (this.#client === undefined || this.#isOver) return
    for (let bytes = this.#next(); bytes !== undefined; bytes = this.#next()) {
      this.#at += bytes.byteLength
      this.#write(bytes)
    }
    const { hasEnded, length, isBroken } = this.#parts.answer
    if (isBroken) this.#breakOff()
    else if (!hasEnded || (this.#isFull && !this.#isStopped)) this.#wait()
    else if (this.#isFull || this.#at < length) this.#breakOff()
    else this.#close(this.#client)
  }

  passed(bytes: Uint8Array): void {
    if (this.#isOver) return
    const isBehind = this.#client === undefined || this.#isFull || this.#at < this.#parts.answer.length
    if (isBehind) this.#breakOff()
    else this.#write(bytes)
  }

  /** Ends with the stream that it follows, for the same reason. Does not wait until the client has taken its bytes. */
  stop(): Promise<void> {
    this.#isStopped = true
    if (this.#parts.answer.hasEnded) this.#breakOff()
    // The other relay ends its stream for the same reason if it has it, too.
    else if (this.#parts.answer.elsewhere !== undefined) {
      this.#totalDueMs = Math.min(this.#totalDueMs, this.#nowMs() + STOP_MS)
      this.#wait()
    }
    return this.whenEnded
  }

  onTime(nowMs: number): void {
    if (nowMs >= this.#totalDueMs) this.#breakOff()
    else if (nowMs >= this.#dueMs()) {
      if (this.#isFull) {
        this.#parts.connection.drop()
        this.#breakOff()
      } else this.#beat(nowMs)
    }
    this.#wait()
  }

  #next(): Uint8Array | undefined {
    return this.#isFull ? undefined : this.#parts.answer.read(this.#at, PIECE_BYTES)
  }

  #beat(nowMs: number): void {
    this.#sentAtMs = nowMs
    const bytes = this.#parts.answer.heartbeat()
    if (bytes !== undefined && this.#client !== undefined) this.#write(bytes)
  }

  #write(bytes: Uint8Array): void {
    this.#sentAtMs = this.#nowMs()
    if (this.#client?.write(bytes) === false) this.#isFull = true
  }

  #close(client: ClientBody): void {
    this.#parts.connection.restore()
    client.close()
    this.#over()
  }

  #breakOff(): void {
    this.#client?.breakOff()
    this.#over()
  }

  #over(): void {
    if (this.#isOver) return
    this.#isOver = true
    const { world, answer, onEnd } = this.#parts
    world.wheel.drop(this)
    answer.unfollow(this)
    onEnd()
    this.#end()
  }

  #wait(): void {
    if (!this.#isOver) this.#parts.world.wheel.set(this, Math.min(this.#totalDueMs, this.#dueMs()))
  }

  #dueMs(): number {
    const { world, timings } = this.#parts
    return this.#sentAtMs + (this.#isFull ? world.limits().writeStallMs : timings.heartbeatIdleMs)
  }

  #nowMs(): number {
    return this.#parts.world.clock.monotonicMs()
  }
}
