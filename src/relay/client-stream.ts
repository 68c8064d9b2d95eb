/**
 * One streamed answer while it runs: pulls the upstream, pushes the transcoder, and ends exactly once, whichever of the ends that race comes first. Content
 * leaves at once; the final bytes wait for the ledger. Nothing is read from the upstream before the client asks for more.
 * Rules: product.md "Money" (what is charged), "Requests" (terminal events, heartbeats); reliability.md §0.3, §0.4, §2.3.
 */

import { partialUsage } from '../core/native/observation.ts'
import { Ending, type Outcome } from '../core/outcome.ts'
import { insufficientBalance, Refusal, type RefusalName } from '../core/refusal.ts'
import type { Transcoder } from '../core/transcoder.ts'
import type { RequestLine } from '../observe/request-line.ts'
import type { Fault, Reply } from '../upstream/upstream.ts'
import type { World } from '../world.ts'
import type { Deadline, StopReason } from './deadline.ts'
import type { Connection, Exchange } from './exchange.ts'
import type { LiveStream } from './live-streams.ts'
import { type Held, settle } from './settle.ts'
import type { Timings } from './timings.ts'

export type ClientStreamParts = Readonly<{
  world: World
  exchange: Exchange
  connection: Connection
  held: Held
  transcoder: Transcoder
  /** Resolves to the upstream's stream, or to why there is none. Never rejects. */
  opening: Promise<Reply | Fault>
  deadline: Deadline
  timings: Timings
  /** Runs once, when the stream has ended and is settled. */
  onEnd: (outcome: Outcome) => void
}>

type Reader = { read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>; cancel(): Promise<void> }
type End = Readonly<{ outcome: Outcome; last?: Uint8Array; refusal?: Refusal; more?: Partial<RequestLine> }>
type Step = Readonly<{ now?: Uint8Array; end?: End }>

export class ClientStream implements LiveStream {
  readonly #parts: ClientStreamParts
  readonly #ending = new Ending()
  readonly #whenEnded = Promise.withResolvers<void>()
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #reader: Reader | undefined
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

  /** Waits for the first bytes, at most `waitMs`. A refusal: the upstream failed before any of them, so the answer can still have a status of its own. */
  async first(waitMs: number): Promise<'begun' | 'waiting' | { refusal: Refusal; more: Partial<RequestLine> }> {
    const timer = Promise.withResolvers<undefined>()
    const timeout = setTimeout(() => timer.resolve(undefined), waitMs)
    const step = await Promise.race([this.#peek(), timer.promise])
    clearTimeout(timeout)
    if (step === undefined) return 'waiting'
    if (step.end?.refusal === undefined || step.now !== undefined) return 'begun'
    const { refusal, outcome, more = {} } = step.end
    await this.#close({ outcome, refusal, more: { ...more, refusal: refusal.name } }, refusal.row.status)
    return { refusal, more }
  }

  /** The client's body. `opening` bytes go out first when the upstream has not said anything yet. */
  body(opening: Uint8Array | undefined): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller
        if (opening !== undefined) controller.enqueue(opening)
      },
      pull: () => this.#pull(),
      cancel: () => this.leave(),
    })
  }

  /** The client is gone: a moment's grace for the upstream's final figures, then it is aborted and what was delivered is charged. */
  async leave(reason: StopReason = 'leaver'): Promise<void> {
    if (this.#isLeaving || this.#ending.outcome !== undefined) return
    this.#isLeaving = true
    const graceMs = this.#parts.transcoder.observation.hasStarted ? this.#parts.timings.leaverGraceMs : 0
    const grace = setTimeout(() => this.#abort(reason), graceMs)
    if (graceMs === 0) this.#abort(reason)
    let step = await this.#peek()
    while (step.end === undefined) {
      this.#pending = undefined
      step = await this.#peek()
    }
    clearTimeout(grace)
    await this.#close({ outcome: 'leaver' }, 200)
  }

  stop(reason: 'disabled' | 'exhausted' | 'drain'): Promise<void> {
    this.#parts.deadline.stop(reason)
    this.onStop()
    return this.whenEnded
  }

  /** The deadline has stopped the upstream. A client that does not read leaves no pull waiting; then the end is written behind what it has not taken. */
  onStop(): void {
    if (this.#ending.outcome !== undefined || this.#isLeaving) return
    this.#reader?.cancel().catch(() => undefined)
    if (!this.#isPulled && this.#controller !== undefined) this.#finish(this.#stopped()).catch(() => undefined)
  }

  pulse(nowMs: number): void {
    if (this.#ending.outcome !== undefined || this.#isLeaving || this.#controller === undefined) return
    const { world, timings, transcoder } = this.#parts
    if (!this.#isPulled) {
      if (nowMs - this.#clientAtMs > world.limits().writeStallMs) this.#dropSlowClient()
      return
    }
    if (transcoder.observation.hasStarted && nowMs - this.#upstreamAtMs > world.limits().stallTimeoutMs) this.#abort('stall')
    else if (nowMs - this.#clientAtMs > timings.heartbeatIdleMs && transcoder.isBetweenFrames) this.#enqueue(transcoder.heartbeat())
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

  /** The next bytes or the end; the same promise until it is taken, so that a leaver can wait for what a pull began. */
  #peek(): Promise<Step> {
    this.#pending ??= this.#next()
    return this.#pending
  }

  async #next(): Promise<Step> {
    const { opening, deadline, transcoder } = this.#parts
    const opened = await opening
    if (deadline.reason !== undefined) return { end: this.#stopped() }
    if (opened.kind === 'fault') return { end: faultEnd(opened) }
    const reader: Reader = this.#reader ?? opened.body.getReader()
    this.#reader = reader
    for (;;) {
      const read = await reader.read().catch(() => undefined)
      this.#upstreamAtMs = this.#parts.world.clock.monotonicMs()
      if (read === undefined || deadline.reason !== undefined) return { end: this.#stopped() }
      const pushed = read.value === undefined ? transcoder.end() : transcoder.push(read.value)
      this.#mark()
      const now = pushed.now === undefined ? {} : { now: pushed.now }
      const more = { upstream: opened.upstream }
      if (pushed.last !== undefined) return { ...now, end: { outcome: 'complete', last: pushed.last, more } }
      if (pushed.fault !== undefined)
        return { ...now, end: { outcome: 'fault', refusal: pushed.fault, more: { ...more, cause: 'stream' } } }
      if (pushed.now !== undefined) return now
    }
  }

  /** Why the upstream was stopped, as an end; without a reason of ours its connection broke. */
  #stopped(): End {
    const reason = this.#parts.deadline.reason
    switch (reason) {
      case 'deadline':
        return endWith('deadline', 'timedOut')
      case 'stall':
        return { ...endWith('fault', 'upstreamBroken'), more: { cause: 'stall' } }
      case 'drain':
        return endWith('drain', 'draining')
      case 'disabled':
        return endWith('cut', 'keyDisabled')
      case 'exhausted':
        return { outcome: 'cut', refusal: insufficientBalance(this.#parts.world.dashboardUrl()) }
      case 'leaver':
      case 'write-stall':
        return { outcome: 'leaver' }
      case 'done':
      case undefined:
        return { ...endWith('fault', 'upstreamBroken'), more: { cause: 'reset' } }
    }
  }

  /** Settles, then writes the closing bytes: the format's own end when the receipt is durable, else its error. */
  async #finish(end: End): Promise<void> {
    const kept = await this.#close(end, 200)
    if (kept === 'not ours') return
    const closing = kept === 'durable' ? (end.last ?? this.#failure(end.refusal)) : this.#failure(new Refusal('storageUnavailable'))
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
  async #close(end: End, status: number): Promise<'durable' | 'unavailable' | 'not ours'> {
    if (!this.#ending.decide(end.outcome)) return 'not ours'
    const { world, exchange, held, transcoder, onEnd } = this.#parts
    this.#release(end.outcome)
    const more = end.refusal === undefined ? end.more : { ...end.more, refusal: end.refusal.name }
    const ended = { outcome: end.outcome, observation: transcoder.observation, status, ...(more === undefined ? {} : { more }) }
    const kept = await settle(world, exchange, held, ended)
    onEnd(end.outcome)
    this.#whenEnded.resolve()
    return kept
  }

  /** Lets go of the upstream: a complete answer's connection is read to its end so that it can be used again, any other is closed. */
  #release(outcome: Outcome): void {
    const reader = this.#reader
    if (outcome !== 'complete' || reader === undefined) {
      this.#abort('done')
      return
    }
    const timer = setTimeout(() => this.#abort('done'), this.#parts.timings.leaverGraceMs)
    const readOn = async (): Promise<void> => {
      for (let read = await reader.read(); !read.done; read = await reader.read());
    }
    readOn()
      .catch(() => undefined)
      .finally(() => {
        clearTimeout(timer)
        this.#abort('done')
      })
  }

  #abort(reason: StopReason): void {
    this.#parts.deadline.stop(reason)
    this.#reader?.cancel().catch(() => undefined)
  }

  #dropSlowClient(): void {
    this.leave('write-stall').catch(() => undefined)
    try {
      this.#controller?.error(new Error('the client accepts no bytes'))
    } catch {
      // Already closed.
    }
  }

  #enqueue(bytes: Uint8Array): void {
    this.#clientAtMs = this.#parts.world.clock.monotonicMs()
    try {
      this.#controller?.enqueue(bytes)
    } catch {
      // Cancelled in the same moment: `leave` settles.
    }
  }

  /** Tells the ledger how far the answer has come: at `message_start`, then every few seconds. */
  #mark(): void {
    const { transcoder, world, exchange, held, timings } = this.#parts
    if (!transcoder.observation.hasStarted) return
    if (this.#markedAtMs !== undefined && this.#upstreamAtMs - this.#markedAtMs < timings.markEveryMs) return
    this.#markedAtMs = this.#upstreamAtMs
    world.ledger.mark(exchange.requestId, partialUsage(transcoder.observation, held.bounds).usage)
  }
}

const endWith = (outcome: Outcome, name: RefusalName): End => ({ outcome, refusal: new Refusal(name) })

const faultEnd = (fault: Fault): End => ({
  outcome: 'fault',
  refusal: fault.refusal,
  more: { upstream: fault.upstream, cause: fault.cause, isAlarm: fault.isAlarm },
})
