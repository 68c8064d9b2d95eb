/**
 * The state of a streamed answer: events in, effects out. It knows no clock, no sockets and no ledger, and content never passes through it. The first of the
 * ends that race decides; every stream is settled exactly once. Rules: money.md "Charges", "Settle"; requests.md "First event", "Terminal events"; faults.md
 * "In a stream".
 */

import { Refusal } from '../core/refusal.ts'
import type { Written } from '../core/transcoder.ts'
import type { StopReason } from './deadline.ts'
import type { Kept } from './settle.ts'
import { type End, leaverEnd, stoppedEnd } from './stream-end.ts'

export type StreamEvent =
  /** The upstream has answered with a stream. `isFinishedAlone`: the stream is read to its end also when its client has left. */
  | Readonly<{ type: 'answered'; upstream: string; isFinishedAlone: boolean }>
  /** The first bytes for the client are there. */
  | Readonly<{ type: 'spoke' }>
  /** `message_start` has come: the input is being paid for. */
  | Readonly<{ type: 'began' }>
  /** The upstream's stream has ended, in order or not, or a bug of ours has ended it. */
  | Readonly<{ type: 'ended'; end: End }>
  /** The client's status waits no longer. */
  | Readonly<{ type: 'impatient' }>
  /** `deliveredBytes`: how much content was on its way to the client by then. */
  | Readonly<{ type: 'left'; reason: 'leaver' | 'write-stall'; deliveredBytes: number }>
  /** The upstream has had its time to say more to a client that has left. */
  | Readonly<{ type: 'forgotten' }>
  | Readonly<{ type: 'stopped'; reason: 'deadline' | 'stall' | 'drain' | 'disabled' }>
  /** The receipt is durable, or could not be written. */
  | Readonly<{ type: 'kept'; kept: Kept }>

export type StreamEffect =
  /** The status that the client gets: 200, or the refusal's own. */
  | Readonly<{ do: 'answer'; status: 'begun' | 'waiting' | Refusal }>
  /** How long the upstream is still read after its client has left: until it begins, or until its final figures. */
  | Readonly<{ do: 'linger'; until: 'start' | 'end' }>
  /** Stops the upstream. */
  | Readonly<{ do: 'stop'; reason: StopReason }>
  /** The client has left, and the stream is finished all the same: the client's speed no longer counts. */
  | Readonly<{ do: 'go on' }>
  /** The upstream's answer is whole: its connection is read to its end, so that it can be used again. */
  | Readonly<{ do: 'read on' }>
  /** `deliveredBytes`: the bytes that an estimate may count; undefined: all of them. */
  | Readonly<{ do: 'settle'; end: End; status: number; deliveredBytes: number | undefined }>
  /** The client's last bytes: the answer's own end, or the format's error; neither where there is nothing to say. */
  | Readonly<{ do: 'close'; last: Written | undefined; refusal: Refusal | undefined }>
  /** The client cannot read an end: the connection is broken off, never closed as if the answer were whole. */
  | Readonly<{ do: 'break off' }>

type Effects = readonly StreamEffect[]

const NOTHING: Effects = []

export class StreamState {
  #isFinishedAlone: boolean
  #isAlone = false
  #upstream: string | undefined
  #hasBegun = false
  #hasSpoken = false
  #isAnswered = false
  #left: Readonly<{ hadBegun: boolean; deliveredBytes: number }> | undefined
  #end: End | undefined

  /** `isFinishedAlone`: the request may be sent again under its Idempotency-Key, so that its answer is kept though its client leaves. */
  constructor(isFinishedAlone = false) {
    this.#isFinishedAlone = isFinishedAlone
  }

  /** Later events do not change how the stream ends. */
  get isDecided(): boolean {
    return this.#end !== undefined
  }

  get hasLeft(): boolean {
    return this.#left !== undefined || this.#isAlone
  }

  get upstream(): string | undefined {
    return this.#upstream
  }

  on(event: StreamEvent): Effects {
    if (this.#end !== undefined) return event.type === 'kept' ? this.#kept(this.#end, event.kept) : NOTHING
    switch (event.type) {
      case 'answered':
        this.#upstream = event.upstream
        this.#isFinishedAlone ||= event.isFinishedAlone
        return NOTHING
      case 'spoke':
        this.#hasSpoken = true
        return this.#answer('begun')
      case 'impatient':
        return this.#answer('waiting')
      case 'began':
        this.#hasBegun = true
        if (this.#left === undefined || this.#left.hadBegun) return NOTHING
        return this.#isFinishedAlone ? this.#goOnAlone() : this.#forget()
      case 'left':
        return this.#leave(event.reason, event.deliveredBytes)
      case 'forgotten':
        return this.#left === undefined ? NOTHING : this.#forget()
      case 'stopped':
        return this.#decide(this.#left === undefined ? stoppedEnd(event.reason, this.#upstream) : LEAVER, event.reason)
      case 'ended':
        return this.#decide(this.#ofLeaver(event.end))
      case 'kept':
        return NOTHING
    }
  }

  #answer(status: 'begun' | 'waiting'): Effects {
    if (this.#isAnswered) return NOTHING
    this.#isAnswered = true
    return [{ do: 'answer', status }]
  }

  #leave(reason: 'leaver' | 'write-stall', deliveredBytes: number): Effects {
    if (this.hasLeft) return NOTHING
    if (this.#isFinishedAlone) {
      this.#isAlone = true
      return [...this.#answer('waiting'), { do: 'break off' }, { do: 'go on' }]
    }
    this.#left = { hadBegun: this.#hasBegun, deliveredBytes }
    const gone: Effects = [...this.#answer('waiting'), { do: 'break off' }]
    if (!this.#hasBegun) return [...gone, { do: 'linger', until: 'start' }]
    // After a slow client the rest of the answer is a backlog, and its end may be far away: the stream is stopped.
    return reason === 'leaver' ? [...gone, { do: 'linger', until: 'end' }] : [...gone, ...this.#decide(LEAVER, reason)]
  }

  /** The client left before the answer began, when it was not known yet that the stream is finished alone. */
  #goOnAlone(): Effects {
    this.#left = undefined
    this.#isAlone = true
    return [{ do: 'go on' }]
  }

  #forget(): Effects {
    return this.#decide(LEAVER, 'leaver')
  }

  /** An upstream that fails before its first event costs nothing, also where the client has left. */
  #ofLeaver(end: End): End {
    if (this.#left === undefined) return end
    return !this.#left.hadBegun && end.outcome === 'fault' ? leaverEnd('fault', end) : LEAVER
  }

  #decide(end: End, reason: StopReason = 'done'): Effects {
    this.#end = end
    const release: StreamEffect = end.outcome === 'complete' ? { do: 'read on' } : { do: 'stop', reason }
    const { refusal } = end
    // A failure before the first bytes still gets a status of its own.
    const isRefused = refusal !== undefined && !this.#isAnswered && !this.#hasSpoken
    const answer = isRefused ? NOTHING : this.#answer('begun')
    const status = isRefused ? refusal.row.status : 200
    return [release, ...answer, { do: 'settle', end, status, deliveredBytes: this.#left?.deliveredBytes }]
  }

  #kept(end: End, kept: Kept): Effects {
    if (this.#left !== undefined) return NOTHING
    if (!this.#isAnswered && end.refusal !== undefined) {
      this.#isAnswered = true
      return [{ do: 'answer', status: end.refusal }]
    }
    if (kept === 'unavailable') return [{ do: 'close', last: undefined, refusal: new Refusal('storageUnavailable') }]
    return [{ do: 'close', last: end.last, refusal: end.refusal }]
  }
}

const LEAVER: End = { outcome: 'leaver' }
