/** The limits of a key: requests at once, and requests a minute. Rules: keys.md "Rate limits". */

import { boundedMap } from '../core/bounded-map.ts'
import type { Limits } from '../core/limits.ts'
import { step } from '../core/rate-limit.ts'
import { Refusal } from '../core/refusal.ts'

/** The slot of a running request. `release` may be called more than once and counts once. */
export type Slot = Readonly<{ release(): void }>

/** The rate limits of keys, kept by this process alone or shared by all nodes. A refusal says when to come back. Refused requests are not counted. */
export type KeyGate = Readonly<{
  admit(keyId: string): Slot | Refusal | Promise<Slot | Refusal>
  count(keyId: string): Refusal | undefined | Promise<Refusal | undefined>
  refusalNow(keyId: string): Refusal | undefined
  running(keyId: string): number
}>

type KeyLimitsOptions = Readonly<{
  limits: () => Limits
  /** Milliseconds of a monotonic clock. */
  now: () => number
}>

const KEYS_MAX = 100_000

export class KeyLimits {
  readonly #limits: () => Limits
  readonly #now: () => number
  /**
   * When each key may send a full burst again. The map is bounded and drops the key that was used longest ago; running requests are counted in `#running`,
   * which drops none.
   */
  readonly #wholeAt = boundedMap<number>(KEYS_MAX)
  readonly #running = new Map<string, number>()

  constructor({ limits, now }: KeyLimitsOptions) {
    this.#limits = limits
    this.#now = now
  }

  /** Admits a request, or says when to come back. Refused requests are not counted. */
  admit(keyId: string): Slot | Refusal {
    const running = this.running(keyId)
    if (running >= this.#limits().concurrentRequests) return new Refusal('rateLimited')
    const refusal = this.count(keyId)
    if (refusal !== undefined) return refusal
    this.#running.set(keyId, running + 1)
    return new RunningSlot(this.#running, keyId)
  }

  /** Counts a request that needs no slot because it is answered at once, such as the list of models. */
  count(keyId: string): Refusal | undefined {
    const perMinute = this.#limits().requestsPerMinute
    const { tat, isAllowed, retryAfterSeconds } = step(this.#wholeAt.get(keyId), this.#now(), { perMinute, burst: perMinute })
    this.#wholeAt.set(keyId, tat)
    return isAllowed ? undefined : new Refusal('rateLimited', { retryAfterSeconds })
  }

  /** The refusal that the next request of the key would get. The call does not count as a request. */
  refusalNow(keyId: string): Refusal | undefined {
    const { concurrentRequests, requestsPerMinute: perMinute } = this.#limits()
    if (this.running(keyId) >= concurrentRequests) return new Refusal('rateLimited')
    const { isAllowed, retryAfterSeconds } = step(this.#wholeAt.get(keyId), this.#now(), { perMinute, burst: perMinute })
    return isAllowed ? undefined : new Refusal('rateLimited', { retryAfterSeconds })
  }

  running(keyId: string): number {
    return this.#running.get(keyId) ?? 0
  }
}

class RunningSlot implements Slot {
  readonly #running: Map<string, number>
  readonly #keyId: string
  #isHeld = true

  constructor(running: Map<string, number>, keyId: string) {
    this.#running = running
    this.#keyId = keyId
  }

  release(): void {
    if (!this.#isHeld) return
    this.#isHeld = false
    const left = (this.#running.get(this.#keyId) ?? 0) - 1
    if (left > 0) this.#running.set(this.#keyId, left)
    else this.#running.delete(this.#keyId)
  }
}
