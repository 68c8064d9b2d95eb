/**
 * One streamed answer while it runs: pulls the upstream, pushes the transcoder, and ends exactly once, whichever of the ends that race comes first. Content
 * leaves at once; the final bytes wait for the ledger. Nothing is read from the upstream before the client asks for more.
 * Rules: money.md "Settle", "Charges"; requests.md "Terminal events", "Heartbeats", "Backpressure"; house.md "One stage".
 */

import { isToldWhole, partialUsage } from '../core/native/observation.ts'
import { Ending, type Outcome } from '../core/outcome.ts'
import { Refusal } from '../core/refusal.ts'
import type { Transcoder, Written } from '../core/transcoder.ts'
import { describeBug } from '../observe/bug.ts'
import type { Fault, Reply } from '../upstream/upstream.ts'
import type { World } from '../world.ts'
import type { Deadline, StopReason } from './deadline.ts'
import type { Connection, Exchange } from './exchange.ts'
import type { LiveStream } from './live-streams.ts'
import { type Held, type Kept, settle, upstreamOf } from './settle.ts'
import { type End, endWith, faultEnd, leaverEnd, stoppedEnd } from './stream-end.ts'
import type { Timings } from './timings.ts'
import { UpstreamBody } from './upstream-body.ts'

export type ClientStreamParts = Readonly<{
  world: World
  exchange: Exchange
  connection: Connection
  held: Held
  transcoder: Transcoder
  /** Resolves to the upstream's stream, or to why there is none. Never rejects. */
  opening: Promise<Reply | Fault>
  /** The head of an upstream's error has come: `opening` will soon be a fault. */
  isFailing: () => boolean
  deadline: Deadline
  timings: Timings
  /** Runs once, when the stream has ended and its money is settled, or could not be. */
  onEnd: (outcome: Outcome, kept: Kept) => void
}>

type Step = Readonly<{ now?: Written; end?: End }>

export class ClientStream implements LiveStream {
  readonly #parts: ClientStreamParts
  readonly #ending = new Ending()
  readonly #whenEnded = Promise.withResolvers<void>()
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #upstream: UpstreamBody | undefined
  #upstreamName: string | undefined
  #pending: Promise<Step> | undefined
  #isLeaving = false
  #isPulled = false
  #upstreamAtMs: number
  #clientAtMs: number
  #markedAtMs: number | undefined

  constructor(parts: ClientStreamParts) {
    this.#parts = parts
    this.#upstreamAtMs = this.#clientAtMs = parts.world.clock.monotonicMs()
  }

  get keyId(): string {
    return this.#parts.held.key.id
  }

  get whenEnded(): Promise<void> {
    return this.#whenEnded.promise
  }

  /**
   * Waits for the first bytes, at most `waitMs`, and a little longer for the text of an error that has begun. A refusal: the upstream failed before any of
   * them, so the answer can still have a status of its own.
   */
  async first(waitMs: number): Promise<'begun' | 'waiting' | Refusal> {
    const { isFailing, timings } = this.#parts
    let step = await this.#peekWithin(waitMs)
    if (step === undefined && isFailing()) step = await this.#peekWithin(timings.errorTextWaitMs)
    if (step === undefined) return 'waiting'
    if (step.end?.refusal === undefined || step.now !== undefined) return 'begun'
    await this.#close(step.end, step.end.refusal.row.status)
    // Where its client has left as well, `leave` may be the one that ends it: the request's line is the one of that end.
    await this.whenEnded
    return step.end.refusal
  }

  /** The client's body. `opening` bytes go out first when the upstream has not said anything yet. */
  body(opening: Uint8Array | undefined): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller
        if (this.#isLeaving) this.#breakOff()
        else if (opening !== undefined) controller.enqueue(opening)
      },
      pull: () => this.#pull(),
      cancel: () => this.leave(),
    })
  }

  /**
   * The client is gone. An answer that has begun gets a moment's grace for its final figures; one that has not is waited for until it begins, since its input
   * is being paid for. Then the upstream is aborted, and the input and what was delivered are charged.
   */
  async leave(reason: StopReason = 'leaver'): Promise<void> {
    if (this.#isLeaving || this.#ending.outcome !== undefined) return
    this.#isLeaving = true
    const { transcoder, timings, deadline } = this.#parts
    const { observation } = transcoder
    const { hasStarted: hadStarted, contentBytes: deliveredBytes } = observation
    // Behind a client that was slow lies a backlog, not the end.
    const waitMs = !hadStarted ? timings.leaverStartWaitMs : reason === 'leaver' ? timings.leaverGraceMs : 0
    const wait = setTimeout(() => this.#abort(reason), waitMs)
    if (waitMs === 0) this.#abort(reason)
    let step = await this.#peek()
    while (step.end === undefined) {
      if (!hadStarted && observation.hasStarted) this.#abort(reason)
      this.#pending = undefined
      step = await this.#peek()
    }
    clearTimeout(wait)
    const hasFailed = !hadStarted && step.end.outcome === 'fault' && deadline.reason === undefined
    // What the upstream still wrote was for its final figures: an estimate counts only what was on its way to the client.
    if (observation.stopReason === undefined) observation.contentBytes = deliveredBytes
    await this.#close(leaverEnd(hasFailed ? 'fault' : 'leaver', step.end), 200)
    this.#breakOff()
  }

  stop(reason: 'disabled' | 'drain'): Promise<void> {
    this.#parts.deadline.stop(reason)
    this.onStop()
    return this.whenEnded
  }

  /** The deadline has stopped the upstream. A client that does not read leaves no pull waiting; then the end is written behind what it has not taken. */
  onStop(): void {
    if (this.#ending.outcome !== undefined) return
    this.#upstream?.cancel()
    if (this.#isLeaving) return
    if (!this.#isPulled && this.#controller !== undefined) this.#finish(this.#stopped()).catch(() => undefined)
  }

  pulse(nowMs: number): void {
    if (this.#ending.outcome !== undefined || this.#isLeaving || this.#controller === undefined) return
    const { world, timings, transcoder } = this.#parts
    if (!this.#isPulled) {
      if (nowMs - this.#clientAtMs > world.limits().writeStallMs) this.#dropSlowClient()
      return
    }
    const { observation } = transcoder
    const { stallTimeoutMs } = world.limits()
    const isWhole = isToldWhole(observation)
    const isSilent = nowMs - this.#upstreamAtMs > (isWhole ? Math.min(timings.terminalWaitMs, stallTimeoutMs) : stallTimeoutMs)
    // A whole answer ends as if its upstream had ended: what waits for its bytes reads the end of them.
    if (isWhole && isSilent) this.#upstream?.cancel()
    else if (observation.hasStarted && isSilent) this.#abort('stall')
    else if (nowMs - this.#clientAtMs > timings.heartbeatIdleMs) this.#enqueue(transcoder.heartbeat())
  }

  async #pull(): Promise<void> {
    this.#isPulled = true
    const step = await this.#peek()
    this.#isPulled = false
    if (this.#isLeaving) return
    this.#pending = undefined
    if (step.now !== undefined) {
      this.#parts.exchange.noteFirstByte()
      this.#enqueue(step.now)
    }
    if (step.end !== undefined) await this.#finish(step.end)
  }

  /** Undefined when nothing comes within `waitMs`. */
  async #peekWithin(waitMs: number): Promise<Step | undefined> {
    const timer = Promise.withResolvers<undefined>()
    const timeout = setTimeout(() => timer.resolve(undefined), waitMs)
    const step = await Promise.race([this.#peek(), timer.promise])
    clearTimeout(timeout)
    return step
  }

  /** The next bytes or the end; the same promise until it is taken, so that a leaver can wait for what a pull began. */
  #peek(): Promise<Step> {
    this.#pending ??= this.#next().catch((error: unknown) => this.#failed(error))
    return this.#pending
  }

  /** A bug kills this stream and nothing else: its hold is released, or what was delivered waived. */
  #failed(error: unknown): Step {
    const { world, exchange } = this.#parts
    world.log.alarm('a stream failed by a bug', { request_id: exchange.requestId, ...describeBug(error) })
    return { end: { ...endWith('fault', 'internal'), more: { cause: 'bug' } } }
  }

  async #next(): Promise<Step> {
    const { opening, deadline, transcoder, world } = this.#parts
    const opened = await opening
    this.#upstreamName = opened.upstream
    if (deadline.reason !== undefined) return { end: this.#stopped() }
    if (opened.kind === 'fault') return { end: faultEnd(opened) }
    this.#upstream ??= new UpstreamBody(opened.body)
    for (;;) {
      // The upstream's silence counts from here: while the client was slow, nobody listened.
      this.#upstreamAtMs = world.clock.monotonicMs()
      const read = await this.#upstream.read()
      if (deadline.reason !== undefined) return { end: this.#stopped() }
      const pushed = read instanceof Uint8Array ? transcoder.push(read) : transcoder.end(read)
      this.#mark()
      const now = pushed.now === undefined ? {} : { now: pushed.now }
      const more = { upstream: opened.upstream }
      if (pushed.last !== undefined) return { ...now, end: { outcome: 'complete', last: pushed.last, more } }
      if (pushed.fault !== undefined) {
        const cause = read === 'broken' ? 'reset' : 'stream'
        const isAlarm = pushed.fault.name === 'upstreamAccount'
        return { ...now, end: { outcome: 'fault', refusal: pushed.fault, more: { ...more, cause, isAlarm } } }
      }
      if (pushed.now !== undefined || this.#isLeaving) return now
    }
  }

  /** What stopped the upstream, as an end. */
  #stopped(): End {
    return stoppedEnd(this.#parts.deadline.reason, this.#upstreamName)
  }

  /** Settles, then writes the closing bytes: the format's own end when the receipt is durable, else its error. */
  async #finish(end: End): Promise<void> {
    const kept = await this.#close(end, 200)
    if (kept === 'not ours') return
    const closing = kept !== 'unavailable' ? (end.last ?? this.#failure(end.refusal)) : this.#failure(new Refusal('storageUnavailable'))
    if (closing !== undefined) this.#enqueue(closing)
    this.#parts.connection.restore()
    try {
      this.#controller?.close()
    } catch {
      // Cancelled in the same moment: closed is closed.
    }
  }

  #failure(refusal: Refusal | undefined): Uint8Array | undefined {
    return refusal === undefined ? undefined : this.#parts.transcoder.fail(refusal)
  }

  /** The one place where the stream's outcome is decided and its money moves. */
  async #close(end: End, status: number): Promise<Kept | 'not ours'> {
    if (!this.#ending.decide(end.outcome)) return 'not ours'
    const { world, exchange, held, transcoder, onEnd } = this.#parts
    this.#release(end.outcome)
    const more = end.refusal === undefined ? end.more : { ...end.more, refusal: end.refusal.name }
    const ended = { outcome: end.outcome, observation: transcoder.observation, status, ...(more === undefined ? {} : { more }) }
    let kept: Kept = 'unavailable'
    try {
      kept = await settle(world, exchange, held, ended)
    } finally {
      this.#whenEnded.resolve()
      onEnd(end.outcome, kept)
    }
    return kept
  }

  /** Lets go of the upstream: a complete answer's connection is read to its end so that it can be used again, any other is closed. */
  #release(outcome: Outcome): void {
    const rest = outcome === 'complete' ? this.#upstream?.readOn(this.#parts.timings.leaverGraceMs) : undefined
    if (rest === undefined) this.#abort('done')
    else rest.finally(() => this.#abort('done')).catch(() => undefined)
  }

  #abort(reason: StopReason): void {
    this.#parts.deadline.stop(reason)
    this.#upstream?.cancel()
  }

  #dropSlowClient(): void {
    this.leave('write-stall').catch(() => undefined)
    this.#parts.connection.drop()
    this.#breakOff()
  }

  /** Nobody is there to read an end: the connection is dropped, never closed as if the answer were whole. */
  #breakOff(): void {
    try {
      this.#controller?.error(new Error('the client is gone'))
    } catch {
      // Already closed.
    }
  }

  #enqueue(written: Written): void {
    this.#clientAtMs = this.#parts.world.clock.monotonicMs()
    try {
      for (const bytes of written instanceof Uint8Array ? [written] : written) this.#controller?.enqueue(bytes)
    } catch {
      // Cancelled in the same moment: `leave` settles.
    }
  }

  /** Tells the ledger how far the answer has come: at `message_start`, then every few seconds. */
  #mark(): void {
    const { transcoder, world, exchange, held, timings } = this.#parts
    if (!transcoder.observation.hasStarted) return
    const nowMs = world.clock.monotonicMs()
    if (this.#markedAtMs !== undefined && nowMs - this.#markedAtMs < timings.markEveryMs) return
    this.#markedAtMs = nowMs
    const { usage, isEstimated } = partialUsage(transcoder.observation, held.bounds)
    const basis = isEstimated
      ? ({ usageSource: 'estimated', bytesPerToken: held.bounds.bytesPerToken } as const)
      : ({ usageSource: 'partial' } as const)
    world.ledger.mark(exchange.requestId, { usage, ...basis, ...upstreamOf(held, this.#upstreamName) })
  }
}
