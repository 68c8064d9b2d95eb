/**
 * A token or a set of keys that expires: it is fetched once for all callers that wait, and renewed beside the running calls before it expires. Rules: doors.md
 * "Tokens".
 */

export type Lasting<T> = Readonly<{ value: T; lifeMs: number }>

export type RenewedOptions<T> = Readonly<{
  /** Never rejects; a text says why there is no value, as a metric's label. */
  fetch: () => Promise<Lasting<T> | string>
  /** Milliseconds that never jump. */
  nowMs?: () => number
}>

/** After this share of its life a new value is fetched. */
const RENEWED_SHARE = 0.8
/** A value counts as expired so long before its end, since a call takes a while to arrive; for a short life, a tenth of the life at most. */
const MARGIN_MS = 10_000
/** A service that has just failed is not asked again for this long. */
const FAILED_MS = 1_000

export class Renewed<T> {
  readonly #fetch: RenewedOptions<T>['fetch']
  readonly #nowMs: () => number
  #held: Readonly<{ value: T; renewAtMs: number; endsAtMs: number }> | undefined
  #failed: Readonly<{ cause: string; untilMs: number }> | undefined
  #pending: Promise<T | string> | undefined

  constructor({ fetch, nowMs = () => performance.now() }: RenewedOptions<T>) {
    this.#fetch = fetch
    this.#nowMs = nowMs
  }

  /** Returns at once where a value is held; a text: why there is none. Never rejects. */
  get(): T | string | Promise<T | string> {
    const now = this.#nowMs()
    const held = this.#held
    const isHeld = held !== undefined && now < held.endsAtMs
    if (isHeld && now < held.renewAtMs) return held.value
    const hasFailed = this.#failed !== undefined && now < this.#failed.untilMs
    if (!hasFailed) this.#pending ??= this.#renew()
    if (isHeld) return held.value
    return this.#pending ?? this.#failed?.cause ?? ''
  }

  /** Drops a value that the server no longer takes. A value that was fetched meanwhile stays. */
  refused(value: T): void {
    if (this.#held?.value === value) this.#held = undefined
  }

  async #renew(): Promise<T | string> {
    const found = await this.#fetch()
    const now = this.#nowMs()
    this.#pending = undefined
    if (typeof found === 'string') {
      this.#failed = { cause: found, untilMs: now + FAILED_MS }
      return found
    }
    const { value, lifeMs } = found
    this.#failed = undefined
    this.#held = { value, renewAtMs: now + lifeMs * RENEWED_SHARE, endsAtMs: now + lifeMs - Math.min(MARGIN_MS, lifeMs / 10) }
    return value
  }
}
