/**
 * One streamed answer while it runs: the I/O around its state. A piece of the upstream goes through the transcoder to the client's socket in the step in which
 * it was read; the final bytes wait for the ledger. A client that takes nothing pauses the upstream.
 * Rules: money.md "Settle", "Charges"; requests.md "Terminal events", "Heartbeats", "Backpressure"; house.md "One stage".
 */

import { isToldWhole } from '../core/native/observation.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Pushed, StreamClose, Transcoder, Written } from '../core/transcoder.ts'
import { NO_TICK, type Timed } from '../core/wheel.ts'
import { describeBug } from '../observe/bug.ts'
import type { BodySink, BodySource, Fault, Reply } from '../upstream/upstream.ts'
import type { World } from '../world.ts'
import { type ClientBody, type ClientBodyUser, clientBody } from './client-body.ts'
import type { CallStop, StopReason } from './deadline.ts'
import type { Connection, Exchange } from './exchange.ts'
import type { RecordedAnswer } from './idempotency.ts'
import type { LiveStream } from './live-streams.ts'
import type { Held, Kept } from './settle.ts'
import { giveBack } from './spent-bytes.ts'
import { type End, endWith, faultEnd } from './stream-end.ts'
import { markStream, settleStream } from './stream-money.ts'
import { type StreamEffect, type StreamEvent, StreamState } from './stream-state.ts'
import { StreamTimes, type TimeLimit } from './stream-times.ts'
import type { Timings } from './timings.ts'

export type ClientStreamParts = Readonly<{
  world: World
  exchange: Exchange
  connection: Connection
  held: Held
  transcoder: Transcoder
  /** Stops the upstream call. */
  call: CallStop
  timings: Timings
  /** Where the answer is kept for a repetition of its request; absent where it is not. */
  kept?: Pick<RecordedAnswer, 'add'>
  /** Runs once, when the stream has ended and its money is settled, or could not be. */
  onEnd: (end: End, kept: Kept) => void
}>

type Status = 'begun' | 'waiting' | Refusal

/** Of a large read, what is worked on at once stays near the processor. */
const PART_BYTES = 64 * 1024

type Closing = Readonly<{ bytes: Written | undefined }>

export class ClientStream implements LiveStream, BodySink, ClientBodyUser, Timed {
  tick = NO_TICK
  readonly #parts: ClientStreamParts
  readonly #state: StreamState
  readonly #times: StreamTimes
  /** What the client's status can be. A refusal: the upstream failed before any bytes, and the answer has a status of its own. */
  readonly first: Promise<Status>
  readonly whenEnded: Promise<void>
  #answer: ((status: Status) => void) | undefined
  readonly #end: () => void
  #upstream: BodySource | undefined
  #client: ClientBody | undefined
  /** For the client, before its body is open: the first of it pauses the upstream. */
  #early: Written[] = []
  #closing: Closing | undefined
  #hasBegun = false

  constructor(parts: ClientStreamParts) {
    this.#parts = parts
    this.#state = new StreamState(parts.kept !== undefined)
    const { world, exchange, timings } = parts
    const first = Promise.withResolvers<Status>()
    const ended = Promise.withResolvers<void>()
    this.first = first.promise
    this.whenEnded = ended.promise
    this.#answer = first.resolve
    this.#end = ended.resolve
    this.#times = new StreamTimes(this.#nowMs(), world.limits().totalTimeoutMs - exchange.elapsedMs, timings.firstEventWaitMs)
    this.#wait()
  }

  get keyId(): string {
    return this.#parts.held.key.id
  }

  /** The client's body. `opening` bytes go out first when the upstream has not said anything yet. */
  body(opening: Uint8Array | undefined): ReadableStream<Uint8Array> {
    if (opening !== undefined) this.#early.unshift(opening)
    return clientBody(this)
  }

  /** The head of an upstream's error has come: the status waits a little longer for what its body says. */
  failing(): void {
    this.#times.firstDueMs += this.#parts.timings.errorTextWaitMs
  }

  /** The upstream's stream, or why there is none. */
  answered(reply: Reply | Fault): void {
    if (reply.kind === 'fault') this.#on({ type: 'ended', end: faultEnd(reply) })
    else if (this.#state.isDecided) reply.body.cancel()
    else {
      this.#on({ type: 'answered', upstream: reply.upstream })
      this.#upstream = reply.body
      this.#times.upstreamAtMs = this.#nowMs()
      this.#parts.transcoder.hears(reply.dialect)
      reply.body.take(this)
      // From its socket to the client's in one step: what looked at the beginning has nothing to do with the rest, and is not kept for it.
      this.#upstream = this.#upstream?.handOn(this)
    }
  }

  /** A bug kills this stream and nothing else: its hold is released, or what was delivered waived. */
  failed(error: unknown): void {
    this.#alarm(error)
    this.#on({ type: 'ended', end: { ...endWith('fault', 'internal'), more: { cause: 'bug' } } })
  }

  stop(reason: 'disabled' | 'drain'): Promise<void> {
    this.#on({ type: 'stopped', reason })
    return this.whenEnded
  }

  /** For those who take part in the stream; undefined where its end is written already. */
  heartbeat(): Uint8Array | undefined {
    return this.#state.isDecided ? undefined : this.#parts.transcoder.heartbeat()
  }

  /** The client is gone. */
  left(): void {
    this.#leave('leaver')
  }

  /** The client was gone before anything was sent: it costs nobody anything. */
  abandon(): void {
    this.left()
    this.#on({ type: 'forgotten' })
  }

  opened(client: ClientBody): void {
    const nowMs = this.#nowMs()
    this.#client = client
    this.#times.isOpen = true
    this.#times.clientAtMs = nowMs
    for (const written of this.#early.splice(0)) this.#write(written, nowMs)
    if (this.#state.hasLeft) client.breakOff()
    else if (this.#closing !== undefined) this.#closeClient(client, this.#closing)
    else if (!this.#times.isClientFull) this.drained()
  }

  drained(): void {
    this.#times.isClientFull = false
    this.#times.upstreamAtMs = this.#nowMs()
    this.#upstream?.resume()
    this.#wait()
  }

  data(piece: Uint8Array): void {
    if (this.#state.isDecided) return
    const nowMs = this.#nowMs()
    this.#times.upstreamAtMs = nowMs
    const { transcoder } = this.#parts
    try {
      if (piece.length <= PART_BYTES) this.#take(transcoder.push(piece), 'stream', nowMs)
      else this.#takeParts(piece, nowMs)
    } catch (error) {
      this.failed(error)
    }
    if (transcoder.givesItsOwn) giveBack(piece)
  }

  #takeParts(piece: Uint8Array, nowMs: number): void {
    for (let at = 0; at < piece.length && !this.#state.isDecided; at += PART_BYTES)
      this.#take(this.#parts.transcoder.push(piece.subarray(at, at + PART_BYTES)), 'stream', nowMs)
  }

  end(): void {
    this.#upstreamEnded('ended')
  }

  broken(): void {
    this.#upstreamEnded('broken')
  }

  onTime(nowMs: number): void {
    try {
      const [limit, dueMs] = this.#next()
      if (dueMs <= nowMs) this.#pass(limit, nowMs)
    } catch (error) {
      this.failed(error)
    }
    this.#wait()
  }

  #pass(limit: TimeLimit, nowMs: number): void {
    switch (limit) {
      case 'deadline':
      case 'stall':
        this.#on({ type: 'stopped', reason: limit })
        break
      case 'told whole':
        this.#upstreamEnded('ended')
        break
      case 'write stall':
        this.#parts.connection.drop()
        this.#leave('write-stall')
        break
      case 'first':
        this.#on({ type: 'impatient' })
        break
      case 'forgotten':
        this.#on({ type: 'forgotten' })
        break
      case 'rest':
        this.#stopUpstream('done')
        break
      case 'mark':
        this.#mark(nowMs)
        break
      case 'heartbeat':
        this.#write(this.#parts.transcoder.heartbeat(), nowMs)
        break
    }
  }

  #leave(reason: 'leaver' | 'write-stall'): void {
    this.#on({ type: 'left', reason, deliveredBytes: this.#parts.transcoder.observation.contentBytes })
  }

  #upstreamEnded(how: StreamClose): void {
    if (this.#state.isDecided) {
      this.#over()
      return
    }
    try {
      this.#take(this.#parts.transcoder.end(how), how === 'broken' ? 'reset' : 'stream', this.#nowMs())
    } catch (error) {
      this.failed(error)
    }
  }

  #take({ now, last, fault }: Pushed, cause: 'reset' | 'stream', nowMs: number): void {
    if (now !== undefined) this.#keep(now)
    if (now !== undefined && !this.#state.hasLeft) this.#deliver(now, nowMs)
    const { observation } = this.#parts.transcoder
    if (last !== undefined) this.#on({ type: 'ended', end: { outcome: 'complete', last, more: this.#answerer() } })
    else if (fault !== undefined) {
      const more = { ...this.#answerer(), cause, isAlarm: fault.name === 'upstreamAccount' }
      this.#on({ type: 'ended', end: { outcome: 'fault', refusal: fault, more } })
    } else if (observation.hasStarted && !this.#hasBegun) {
      this.#hasBegun = true
      this.#mark(nowMs)
      this.#on({ type: 'began' })
      this.#wait()
    } else if (observation.stopReason !== undefined) this.#wait()
  }

  #deliver(written: Written, nowMs: number): void {
    this.#parts.exchange.noteFirstByte()
    if (this.#client !== undefined) {
      this.#write(written, nowMs)
      return
    }
    this.#early.push(written)
    this.#upstream?.pause()
    this.#on({ type: 'spoke' })
  }

  #write(written: Written, nowMs: number): void {
    this.#times.clientAtMs = nowMs
    const isTaken = this.#client?.write(written)
    if (this.#parts.transcoder.givesItsOwn && written instanceof Uint8Array) giveBack(written)
    if (isTaken !== false || this.#times.isClientFull) return
    this.#times.isClientFull = true
    this.#upstream?.pause()
    this.#wait()
  }

  #keep(written: Written): void {
    const { kept } = this.#parts
    if (kept === undefined) return
    for (const bytes of written instanceof Uint8Array ? [written] : written) kept.add(bytes)
  }

  #on(event: StreamEvent): void {
    for (const effect of this.#state.on(event)) this.#do(effect)
  }

  #do(effect: StreamEffect): void {
    const { timings } = this.#parts
    switch (effect.do) {
      case 'answer':
        this.#times.firstDueMs = Number.POSITIVE_INFINITY
        this.#answer?.(effect.status)
        this.#answer = undefined
        break
      case 'linger':
        this.#times.leftDueMs = this.#nowMs() + (effect.until === 'start' ? timings.leaverStartWaitMs : timings.leaverGraceMs)
        this.#readOn()
        break
      case 'read on':
        this.#times.restDueMs = this.#nowMs() + timings.leaverGraceMs
        this.#readOn()
        break
      case 'stop':
        this.#stopUpstream(effect.reason)
        break
      case 'settle':
        this.#settle(effect).catch((error: unknown) => this.#alarm(error))
        break
      case 'close':
        this.#close(effect)
        break
      case 'break off':
        this.#client?.breakOff()
        break
      case 'go on':
        this.#early = []
        this.drained()
        break
    }
  }

  /** Nobody is slow any more: what still comes is not for the client. */
  #readOn(): void {
    this.#upstream?.resume()
    this.#wait()
  }

  #stopUpstream(reason: StopReason): void {
    this.#upstream?.cancel()
    this.#parts.call.stop(reason)
    this.#over()
  }

  /** The upstream is heard of no more, and its rest is waited for no more. */
  #over(): void {
    this.#times.restDueMs = undefined
    this.#parts.world.wheel.drop(this)
    this.#upstream = undefined
  }

  async #settle(effect: Extract<StreamEffect, { do: 'settle' }>): Promise<void> {
    let kept: Kept = 'unavailable'
    try {
      kept = await settleStream(this.#parts, effect)
    } finally {
      this.#on({ type: 'kept', kept })
      this.#end()
      this.#parts.onEnd(effect.end, kept)
    }
  }

  #close({ last, refusal }: Extract<StreamEffect, { do: 'close' }>): void {
    const bytes = last ?? (refusal === undefined ? undefined : this.#parts.transcoder.fail(refusal))
    if (bytes !== undefined) this.#keep(bytes)
    this.#closing = { bytes }
    if (this.#client !== undefined) this.#closeClient(this.#client, this.#closing)
  }

  /** Behind what the client has not taken yet. */
  #closeClient(client: ClientBody, { bytes }: Closing): void {
    if (bytes !== undefined) client.write(bytes)
    this.#parts.connection.restore()
    client.close()
  }

  /** At `message_start`, then every few seconds. */
  #mark(nowMs: number): void {
    this.#times.markedAtMs = nowMs
    markStream(this.#parts)
  }

  #wait(): void {
    const { wheel } = this.#parts.world
    if (this.#state.isDecided && this.#times.restDueMs === undefined) wheel.drop(this)
    else wheel.set(this, this.#next()[1])
  }

  #next(): readonly [what: TimeLimit, dueMs: number] {
    const { transcoder, world, timings } = this.#parts
    const { observation } = transcoder
    return this.#times.next({ hasBegun: observation.hasStarted, isToldWhole: isToldWhole(observation) }, world.limits(), timings)
  }

  #answerer(): Readonly<{ upstream?: string }> {
    const { upstream } = this.#state
    return upstream === undefined ? {} : { upstream }
  }

  #alarm(error: unknown): void {
    const { world, exchange } = this.#parts
    world.log.alarm('a stream failed by a bug', { request_id: exchange.requestId, ...describeBug(error) })
  }

  #nowMs(): number {
    return this.#parts.world.clock.monotonicMs()
  }
}
