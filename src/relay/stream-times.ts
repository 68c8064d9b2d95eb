/**
 * The times of one stream: when a piece last came and went, and which of its limits passes next. Numbers only: an event moves one of them, and the wheel's
 * turn compares. Rules: faults.md "Time limits"; requests.md "Heartbeats", "Backpressure", "First event"; money.md "Crashes".
 */

import type { Limits } from '../core/limits.ts'
import type { Timings } from './timings.ts'

export type TimeLimit =
  | 'deadline'
  /** The client's status can wait no longer. */
  | 'first'
  /** The upstream says nothing: 'stall' before its final figures, 'told whole' after them. */
  | 'stall'
  | 'told whole'
  | 'write stall'
  /** The upstream had long enough to go on for a client that has left. */
  | 'forgotten'
  /** The rest of a whole answer does not come. */
  | 'rest'
  | 'checkpoint'
  | 'heartbeat'

export type Seen = Readonly<{ hasBegun: boolean; isToldWhole: boolean }>

type StallLimits = Pick<Limits, 'stallTimeoutMs' | 'writeStallMs'>

/** Milliseconds of the monotonic clock. */
export class StreamTimes {
  /** When the upstream's last piece came; after a pause for a slow client, when that client took bytes again. */
  upstreamAtMs: number
  clientAtMs: number
  checkpointedAtMs: number
  readonly totalDueMs: number
  /** Counts until the client's status is known. */
  firstDueMs: number
  /** Set when the client has left. */
  leftDueMs: number | undefined
  /** Set when the answer is whole. */
  restDueMs: number | undefined
  isOpen = false
  isClientFull = false
  #hasWaitedTwice = false

  constructor(nowMs: number, totalMs: number, firstMs: number) {
    this.upstreamAtMs = this.clientAtMs = this.checkpointedAtMs = nowMs
    this.totalDueMs = nowMs + totalMs
    this.firstDueMs = nowMs + firstMs
  }

  /**
   * Whether the client's status has waited long enough. The first time that it has, it waits for one more tick: after a pause of the loop the wait for a slot, which is
   * shorter, ends in the same turn, and its refusal is a status only if it comes first.
   */
  isFirstOver(nowMs: number): boolean {
    if (this.#hasWaitedTwice) return true
    this.#hasWaitedTwice = true
    this.firstDueMs = nowMs
    return false
  }

  /** The limit that passes next, and when. */
  next(seen: Seen, limits: StallLimits, timings: Timings): readonly [what: TimeLimit, dueMs: number] {
    if (this.restDueMs !== undefined) return ['rest', this.restDueMs]
    let next: readonly [TimeLimit, number] = ['deadline', this.totalDueMs]
    const sooner = (what: TimeLimit, dueMs: number): void => {
      if (dueMs < next[1]) next = [what, dueMs]
    }
    if (this.leftDueMs !== undefined) sooner('forgotten', this.leftDueMs)
    else if (!this.isOpen) sooner('first', this.firstDueMs)
    else if (this.isClientFull) sooner('write stall', this.clientAtMs + limits.writeStallMs)
    else {
      sooner('heartbeat', this.clientAtMs + timings.heartbeatIdleMs)
      if (seen.isToldWhole) sooner('told whole', this.upstreamAtMs + Math.min(timings.terminalWaitMs, limits.stallTimeoutMs))
      else if (seen.hasBegun) sooner('stall', this.upstreamAtMs + limits.stallTimeoutMs)
    }
    if (seen.hasBegun) sooner('checkpoint', this.checkpointedAtMs + timings.checkpointEveryMs)
    return next
  }
}
