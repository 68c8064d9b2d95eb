/** The upstream calls of one request, as they are made, for its receipt and its attempts. Rules: pool.md "Failover"; ledger.md "Attempts". */

import { NO_USAGE } from '../core/usage.ts'
import type { UpstreamCall } from '../ledger/columns/parts.ts'
import type { Attempt } from '../ledger/ledger.ts'
import type { BegunCall, CallLog, FailedCall } from '../upstream/pool-request.ts'

export class Calls implements CallLog {
  #failed: readonly (FailedCall & Numbered)[] = NONE
  #count = 0
  #hasMoved = false
  #hasLostThinking = false
  #running: BegunCall | undefined
  /** The status and the id of the running call's answer. */
  #status: 200 | null = null
  #requestId: string | undefined
  #upstream: UpstreamCall | undefined
  #broke: (() => void) | undefined

  /** Upstream calls that were made. */
  get count(): number {
    return this.#count
  }

  /** The upstream that answered. */
  get upstream(): UpstreamCall | undefined {
    return this.#upstream
  }

  /** Whether another upstream has the conversation's prompt in its cache. */
  get hasMoved(): boolean {
    return this.#hasMoved
  }

  /** Another upstream answered the conversation before, to whose account its thinking may be bound. */
  get hasLostThinking(): boolean {
    return this.#hasLostThinking
  }

  began(call: BegunCall): void {
    this.#count++
    this.#running = call
    this.#status = null
    this.#requestId = undefined
  }

  failed(call: FailedCall): void {
    this.#running = undefined
    this.#failed = [...this.#failed, { ...call, number: this.#count }]
  }

  moved({ thinking }: Readonly<{ thinking: boolean }>): void {
    this.#hasMoved = true
    this.#hasLostThinking = thinking
  }

  replied(requestId: string | undefined): void {
    this.#status = 200
    this.#requestId = requestId
  }

  answered(broke: () => void): void {
    if (this.#running === undefined) return
    const { upstream: name, model } = this.#running
    this.#upstream = upstreamCall(name, model, this.#requestId)
    this.#broke = broke
  }

  /** Tells the pool that the answer of this request's upstream broke off. */
  broke(): void {
    this.#broke?.()
  }

  /** All calls but the one that the receipt is about. */
  others(): readonly Attempt[] {
    return this.#failed.length === 0 ? NONE : this.#failed.filter(({ wasSent }) => wasSent).map(attemptOf)
  }

  /**
   * The calls of a request without a receipt that may have cost us money. A call that was answered with an error's status has cost nothing. `cause`: why the call that
   * still ran was given up, at `now` in Unix milliseconds.
   */
  unpaid(cause: string, now: number): readonly Attempt[] {
    const failed = this.#failed.filter(({ wasSent, status }) => wasSent && (status === null || status === 200)).map(attemptOf)
    const running = this.#running
    if (running === undefined) return failed
    const durationMs = Math.max(0, now - running.startedAt)
    const requestId = this.#requestId
    const given = { ...running, ...(requestId === undefined ? {} : { requestId }), status: this.#status }
    return [...failed, attemptOf({ ...given, number: this.#count, cause, durationMs, wasSent: true })]
  }
}

/** `number`: the call's place among the calls of its request, from 1. */
type Numbered = Readonly<{ number: number }>

const NONE: readonly never[] = []

const upstreamCall = (name: string, model: string, requestId: string | undefined): UpstreamCall =>
  requestId === undefined ? { name, model } : { name, model, requestId }

const attemptOf = ({
  number,
  upstream,
  model,
  requestId,
  status,
  cause,
  usage,
  startedAt,
  durationMs,
}: FailedCall & Numbered): Attempt => ({
  number,
  upstream: upstreamCall(upstream, model, requestId),
  status,
  cause,
  usageSource: usage === undefined ? 'none' : 'final',
  usage: usage ?? NO_USAGE,
  startedAt,
  durationMs,
})
