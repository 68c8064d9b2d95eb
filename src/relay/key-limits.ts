/**
 * What a key may ask for at once and in a minute: requests, concurrent requests, and streams that it drops before they have begun (the upstream then
 * works for nobody and is paid by nobody). Rules: product.md "Balance and keys", "Money"; reliability.md B16.
 */

import { LRUCache } from 'lru-cache'
import type { Limits } from '../core/limits.ts'
import { step } from '../core/rate-limit.ts'
import { Refusal } from '../core/refusal.ts'

/** A running request's place; `release` may be called any number of times and counts once. */
export type Slot = Readonly<{ release(): void }>

type KeyLimitsOptions = Readonly<{
  limits: () => Limits
  /** Milliseconds that never jump. */
  now: () => number
}>

type KeyState = {
  tat: number | undefined
  /** When the latest streams were dropped, oldest first; never more than `DROPS_MAX + 1`. */
  drops: number[]
}

const KEYS_MAX = 100_000
const DROPS_MAX = 20
const DROPS_WINDOW_MS = 60_000

export class KeyLimits {
  readonly #limits: () => Limits
  readonly #now: () => number
  /** May forget a key that has been quiet; what is running is counted apart and never forgotten. */
  readonly #states = new LRUCache<string, KeyState>({ max: KEYS_MAX })
  readonly #running = new Map<string, number>()

  constructor({ limits, now }: KeyLimitsOptions) {
    this.#limits = limits
    this.#now = now
  }

  /** Lets a request in, or says when to come back. What is refused is not counted. */
  admit(keyId: string): Slot | Refusal {
    const running = this.#running.get(keyId) ?? 0
    if (running >= this.#limits().concurrentRequests) return new Refusal('rateLimited')
    const refusal = this.#refuseDropper(keyId) ?? this.count(keyId)
    if (refusal !== undefined) return refusal
    this.#running.set(keyId, running + 1)
    return this.#slot(keyId)
  }

  /** Counts a request that needs no slot because it is answered at once, such as the list of models. */
  count(keyId: string): Refusal | undefined {
    const perMinute = this.#limits().requestsPerMinute
    const state = this.#state(keyId)
    const { tat, isAllowed, retryAfterSeconds } = step(state.tat, this.#now(), { perMinute, burst: perMinute })
    state.tat = tat
    return isAllowed ? undefined : new Refusal('rateLimited', { retryAfterSeconds })
  }

  /** The client left a stream before its `message_start`. */
  noteDroppedBeforeStart(keyId: string): void {
    const { drops } = this.#state(keyId)
    drops.push(this.#now())
    if (drops.length > DROPS_MAX + 1) drops.shift()
  }

  /** More than 20 drops within the last minute: nothing until the oldest of the last 21 is a minute old. */
  #refuseDropper(keyId: string): Refusal | undefined {
    const drops = this.#states.get(keyId)?.drops ?? []
    const [oldest] = drops
    if (oldest === undefined || drops.length <= DROPS_MAX) return undefined
    const waitMs = oldest + DROPS_WINDOW_MS - this.#now()
    return waitMs > 0 ? new Refusal('rateLimited', { retryAfterSeconds: waitMs / 1000 }) : undefined
  }

  #slot(keyId: string): Slot {
    let isHeld = true
    return {
      release: () => {
        if (!isHeld) return
        isHeld = false
        const rest = (this.#running.get(keyId) ?? 0) - 1
        if (rest > 0) this.#running.set(keyId, rest)
        else this.#running.delete(keyId)
      },
    }
  }

  #state(keyId: string): KeyState {
    const known = this.#states.get(keyId)
    if (known !== undefined) return known
    const state: KeyState = { tat: undefined, drops: [] }
    this.#states.set(keyId, state)
    return state
  }
}
