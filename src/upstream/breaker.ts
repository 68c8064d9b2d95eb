/**
 * Whether an upstream may be called for a model: a circuit breaker as a pure state, with the time as a parameter. Rules: pool.md "Breaker".  closed: calls go to the
 * upstream · open: no call does, until a moment · half-open: one probe does, and its end decides.
 */

import type { BusyForAll } from './busy-accounts.ts'

/**
 * What a failed call says of the upstream. dead: no connection came about · account: our credit or our key there is at fault · busy: the upstream refused for now, and may
 * have said when to come back · broken: anything else that is not the client's fault.
 */
export type Trouble = Readonly<{ kind: 'dead' | 'account' | 'broken' }> | Readonly<{ kind: 'busy'; retryAfterMs: number | undefined }>

/** Failures of the upstream itself, which concern every account. */
export type Failure = Exclude<Trouble['kind'], 'busy'>

export type BreakerState = 'closed' | 'open' | 'half-open'

const BUCKETS = 10
const BUCKET_MS = 1_000
/** With fewer calls than this, the share of failed ones says nothing. */
const CALLS_MIN = 10
const FAILED_SHARE = 0.5
/** The first and the longest time out; it doubles with each failed probe. */
const OUT_MS = { dead: [1_000, 30_000], broken: [1_000, 30_000], account: [15_000, 300_000] } as const
/** A probe without a result has failed. */
const PROBE_MS_MAX = 600_000

export class Breaker {
  readonly #random: () => number
  readonly #calls = new Uint32Array(BUCKETS)
  readonly #failures = new Uint32Array(BUCKETS)
  #bucket = 0
  #openUntil: number | undefined
  #openedAt = 0
  #probeUntil: number | undefined
  #openedBy: Trouble['kind'] | undefined
  #openings = 0

  /** `random`: gives a number in [0, 1), so that many gateways do not probe in step. */
  constructor(random: () => number) {
    this.#random = random
  }

  state(now: number): BreakerState {
    if (this.#openUntil === undefined) return 'closed'
    return now < this.#openUntil ? 'open' : 'half-open'
  }

  /** The time at which a probe may go to the upstream; undefined: calls may go there now. */
  outUntil(now: number): number | undefined {
    if (this.#openUntil === undefined) return undefined
    if (now < this.#openUntil) return this.#openUntil
    return this.#probeUntil !== undefined && now < this.#probeUntil ? this.#probeUntil : undefined
  }

  /** Whether the upstream is out because connecting failed, which no request can cause. */
  get isDead(): boolean {
    return this.#openUntil !== undefined && this.#openedBy === 'dead'
  }

  /** Notes a call, which `outUntil` has allowed: the first one after a time out is the probe. */
  begin(now: number): void {
    if (this.#openUntil !== undefined) this.#probeUntil = now + PROBE_MS_MAX
  }

  /** `begunAt`: when the call that has succeeded began. A call that was under way when the breaker opened says nothing new. */
  succeeded(now: number, begunAt = now): void {
    if (this.#openUntil !== undefined && begunAt < this.#openedAt) return
    this.#count(now, false)
    this.#openUntil = undefined
    this.#probeUntil = undefined
    this.#openings = 0
  }

  failed(now: number, kind: Failure, begunAt = now): void {
    const isOpen = this.#openUntil !== undefined
    const isTold = isOpen && begunAt <= this.#openedAt
    this.#count(now, true)
    if (isTold) return
    if (isOpen || kind === 'dead' || kind === 'account' || this.#hasFailedTooOften()) this.#openFor(now + this.#nextOutMs(kind), now, kind)
  }

  /** The upstream asked all callers to wait. A call that began after `sinceMs` and is answered ends the wait. */
  busy(now: number, { outMs, sinceMs }: BusyForAll): void {
    this.#openFor(now + outMs, sinceMs, 'busy')
  }

  /** The call ended without saying anything of the upstream: its client left, or the request was the client's mistake. */
  abandoned(): void {
    this.#probeUntil = undefined
  }

  #openFor(untilMs: number, openedAt: number, by: Trouble['kind']): void {
    this.#openedBy = by
    this.#openUntil = Math.max(this.#openUntil ?? 0, untilMs)
    this.#openedAt = openedAt
    this.#probeUntil = undefined
    this.#calls.fill(0)
    this.#failures.fill(0)
  }

  #nextOutMs(kind: Failure): number {
    const [first, longest] = OUT_MS[kind]
    const outMs = Math.min(longest, first * 2 ** this.#openings++)
    return outMs * (1 - this.#random() / 4)
  }

  #hasFailedTooOften(): boolean {
    let calls = 0
    let failures = 0
    for (let index = 0; index < BUCKETS; index++) {
      calls += this.#calls[index] ?? 0
      failures += this.#failures[index] ?? 0
    }
    return calls >= CALLS_MIN && failures >= calls * FAILED_SHARE
  }

  #count(now: number, isFailure: boolean): void {
    const bucket = Math.floor(now / BUCKET_MS)
    for (let stale = Math.max(this.#bucket + 1, bucket - BUCKETS + 1); stale <= bucket; stale++) {
      this.#calls[stale % BUCKETS] = 0
      this.#failures[stale % BUCKETS] = 0
    }
    this.#bucket = Math.max(this.#bucket, bucket)
    const at = this.#bucket % BUCKETS
    this.#calls[at] = (this.#calls[at] ?? 0) + 1
    if (isFailure) this.#failures[at] = (this.#failures[at] ?? 0) + 1
  }
}
