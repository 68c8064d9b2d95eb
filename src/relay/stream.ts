/**
 * One streamed answer while it runs: applies the decisions of its state. Its bytes flow in stream-flow.ts; the final ones wait for the ledger. Rules:
 * money.md "Settle", "Charges"; requests.md "Terminal events", "Heartbeats"; house.md "One stage".
 */

import { isToldWhole } from '../core/native/observation.ts'
import type { Refusal } from '../core/refusal.ts'
import { NO_TICK, type Timed } from '../core/timer-wheel.ts'
import type { Written } from '../core/transcoder.ts'
import { describeBug } from '../observe/bug.ts'
import type { Fault, Reply } from '../upstream/upstream.ts'
import { clientBody } from './client-body.ts'
import type { StopReason } from './deadline.ts'
import type { LiveStream } from './live-streams.ts'
import type { Kept } from './settle.ts'
import { BUG_END, brokenEnd, faultEnd, wholeEnd } from './stream-end.ts'
import { StreamFlow, type StreamFlowUser } from './stream-flow.ts'
import { checkpointStream, settleStream } from './stream-money.ts'
import type { ClientStreamParts } from './stream-parts.ts'
import { type StreamEffect, type StreamEvent, StreamState } from './stream-state.ts'
import { StreamTimes, type TimeLimit } from './stream-times.ts'

type Status = 'begun' | 'waiting' | Refusal

export class ClientStream implements LiveStream, StreamFlowUser, Timed {
  tick = NO_TICK
  readonly #parts: ClientStreamParts
  readonly #state: StreamState
  readonly times: StreamTimes
  readonly flow: StreamFlow
  /** The client's status. A refusal: the upstream failed before any bytes, and the answer has a status of its own. */
  readonly first: Promise<Status>
  readonly whenEnded: Promise<void>
  #answer: ((status: Status) => void) | undefined
  readonly #end: () => void

  constructor(parts: ClientStreamParts) {
    this.#parts = parts
    this.flow = new StreamFlow(parts, this)
    this.#state = new StreamState(parts.kept !== undefined)
    const { world, exchange, timings } = parts
    const first = Promise.withResolvers<Status>()
    const ended = Promise.withResolvers<void>()
    this.first = first.promise
    this.whenEnded = ended.promise
    this.#answer = first.resolve
    this.#end = ended.resolve
    this.times = new StreamTimes(this.nowMs(), world.limits().totalTimeoutMs - exchange.elapsedMs, timings.firstEventWaitMs)
    this.wait()
  }

  get isDecided(): boolean {
    return this.#state.isDecided
  }

  get hasLeft(): boolean {
    return this.#state.hasLeft
  }

  get key(): LiveStream['key'] {
    return this.#parts.held.key
  }

  /** The client's body. `opening` bytes go out first when the upstream has not said anything yet. */
  body(opening: Uint8Array | undefined): ReadableStream<Uint8Array> {
    if (opening !== undefined) this.flow.open(opening)
    return clientBody(this.flow)
  }

  /** The head of an upstream's error has come: the status waits a little longer for what its body says. */
  failing(): void {
    this.times.firstDueMs += this.#parts.timings.errorTextWaitMs
  }

  /** Takes the upstream's stream, or why there is none. */
  answered(reply: Reply | Fault): void {
    if (reply.kind === 'fault') this.#on({ type: 'ended', end: faultEnd(reply) })
    else if (this.#state.isDecided) reply.body.cancel()
    else {
      this.#on({ type: 'answered', upstream: reply.upstream, isFinishedAlone: reply.isFinishedAlone === true })
      this.#parts.transcoder.hears(reply.dialect, reply.hidesErrorText, reply.chat)
      this.flow.answered(reply.body)
    }
  }

  /** A bug kills this stream and nothing else: its hold is released, or what was delivered waived. */
  failed(error: unknown): void {
    const { world, exchange } = this.#parts
    world.log.alarm('a stream failed by a bug', { request_id: exchange.requestId, ...describeBug(error) })
    this.#on({ type: 'ended', end: BUG_END })
  }

  stop(reason: 'disabled' | 'drain'): Promise<void> {
    this.#on({ type: 'stopped', reason })
    return this.whenEnded
  }

  /** The heartbeat for repetitions that take part in the stream; undefined where its end is written already. */
  heartbeat(): Uint8Array | undefined {
    return this.#state.isDecided ? undefined : this.#parts.transcoder.heartbeat()
  }

  /** The client is gone. */
  left(): void {
    this.#leave('leaver')
  }

  /** The client was gone before anything was sent: it costs nothing. */
  abandon(): void {
    this.left()
    this.#on({ type: 'forgotten' })
  }

  spoke(): void {
    this.#on({ type: 'spoke' })
  }

  began(nowMs: number): void {
    this.#checkpoint(nowMs)
    this.#on({ type: 'began' })
    this.wait()
  }

  whole(last: Written): void {
    this.#on({ type: 'ended', end: wholeEnd(last, this.#state.upstream) })
  }

  broke(refusal: Refusal, cause: 'reset' | 'stream'): void {
    this.#on({ type: 'ended', end: brokenEnd(refusal, cause, this.#state.upstream) })
  }

  wait(): void {
    const { wheel } = this.#parts.world
    if (this.#state.isDecided && this.times.restDueMs === undefined) wheel.drop(this)
    else wheel.set(this, this.#next()[1])
  }

  nowMs(): number {
    return this.#parts.world.clock.monotonicMs()
  }

  onTime(nowMs: number): void {
    try {
      const [limit, dueMs] = this.#next()
      if (dueMs <= nowMs) this.#pass(limit, nowMs)
    } catch (error) {
      this.failed(error)
    }
    this.wait()
  }

  #pass(limit: TimeLimit, nowMs: number): void {
    switch (limit) {
      case 'deadline':
      case 'stall':
        this.#on({ type: 'stopped', reason: limit })
        break
      case 'told whole':
        this.flow.end()
        break
      case 'write stall':
        this.#parts.connection.drop()
        this.#leave('write-stall')
        break
      case 'first':
        if (this.times.isFirstOver(nowMs)) this.#on({ type: 'impatient' })
        break
      case 'forgotten':
        this.#on({ type: 'forgotten' })
        break
      case 'rest':
        this.#stopUpstream('done')
        break
      case 'checkpoint':
        this.#checkpoint(nowMs)
        break
      case 'heartbeat':
        this.flow.write(this.#parts.transcoder.heartbeat(), nowMs)
        break
    }
  }

  #leave(reason: 'leaver' | 'write-stall'): void {
    this.#on({ type: 'left', reason, deliveredBytes: this.#parts.transcoder.observation.contentBytes })
  }

  #on(event: StreamEvent): void {
    for (const effect of this.#state.on(event)) this.#do(effect)
  }

  #do(effect: StreamEffect): void {
    const { timings, transcoder } = this.#parts
    switch (effect.do) {
      case 'answer':
        this.times.firstDueMs = Number.POSITIVE_INFINITY
        this.#answer?.(effect.status)
        this.#answer = undefined
        break
      case 'linger':
        this.times.leftDueMs = this.nowMs() + (effect.until === 'start' ? timings.leaverStartWaitMs : timings.leaverGraceMs)
        this.flow.readOn()
        break
      case 'read on':
        this.times.restDueMs = this.nowMs() + timings.leaverGraceMs
        this.flow.readOn()
        break
      case 'stop':
        this.#stopUpstream(effect.reason)
        break
      case 'settle':
        this.#settle(effect).catch((error: unknown) => this.failed(error))
        break
      case 'close':
        this.flow.close(effect.last ?? (effect.refusal && transcoder.fail(effect.refusal)))
        break
      case 'break off':
        this.flow.breakOff()
        break
      case 'go on':
        this.flow.goOn()
        break
    }
  }

  #stopUpstream(reason: StopReason): void {
    this.flow.stopUpstream()
    this.#parts.call.stop(reason)
    this.flow.over()
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

  /** Called at `message_start`, then every few seconds. */
  #checkpoint(nowMs: number): void {
    this.times.checkpointedAtMs = nowMs
    checkpointStream(this.#parts)
  }

  #next(): readonly [what: TimeLimit, dueMs: number] {
    const { transcoder, world, timings } = this.#parts
    const { observation } = transcoder
    return this.times.next({ hasBegun: observation.hasStarted, isToldWhole: isToldWhole(observation) }, world.limits(), timings)
  }
}
