/**
 * The limits of keys over all relays, in the memory of the ledger process. Where nodes share a database, db/postgres/migrations/0002_limits.sql does the same. Rules: keys.md
 * "Limits over nodes"; processes.md "Shared".
 */

import { boundedMap } from '../../core/bounded-map.ts'
import type { LimitAsk, LimitGrant } from '../shared-limits.ts'

const MINUTE_US = 60_000_000
/** Beyond it, who asked longest ago is forgotten. */
const OWNERS_MAX = 100_000

export class RelayLimits {
  /** When a key's allowance is whole again. Microseconds. */
  readonly #wholeAtUs = boundedMap<number>(OWNERS_MAX)
  /** By key, then by relay: how many of its requests may run at once there. */
  readonly #places = new Map<string, Map<number, number>>()
  readonly #relays = new Set<number>()
  readonly #monotonicMs: () => number

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs
  }

  join(boot: number, places: readonly (readonly [keyId: string, places: number])[]): void {
    this.leave(boot)
    this.#relays.add(boot)
    for (const [keyId, count] of places) this.#setPlaces(keyId, boot, count)
  }

  leave(boot: number): void {
    this.#relays.delete(boot)
    for (const keyId of [...this.#places.keys()]) this.#setPlaces(keyId, boot, 0)
  }

  /** Grants at most what is asked for: requests as far as the minute has any left, and places as far as other relays leave any. */
  take(boot: number, { keyId, requests, places, perMinute, atOnce, burst = perMinute }: LimitAsk): LimitGrant {
    const nowUs = Math.floor(this.#monotonicMs() * 1_000)
    const burstUs = Math.floor((MINUTE_US * burst) / perMinute)
    const fromUs = Math.min(Math.max(this.#wholeAtUs.get(keyId) ?? 0, nowUs), nowUs + burstUs)
    const taken = Math.min(requests, Math.floor(((nowUs + burstUs - fromUs) * perMinute) / MINUTE_US))
    const untilUs = fromUs + Math.ceil((taken * MINUTE_US) / perMinute)
    if (taken > 0) this.#wholeAtUs.set(keyId, untilUs)
    const waitMs = Math.max(0, Math.ceil((untilUs + Math.ceil(MINUTE_US / perMinute) - burstUs - nowUs) / 1_000))
    const granted = Math.max(0, Math.min(places, atOnce - this.#placesOfOthers(keyId, boot)))
    this.#setPlaces(keyId, boot, granted)
    return { requests: taken, places: granted, waitMs, nodes: Math.max(1, this.#relays.size) }
  }

  #placesOfOthers(keyId: string, boot: number): number {
    let others = 0
    for (const [of, count] of this.#places.get(keyId) ?? []) if (of !== boot) others += count
    return others
  }

  #setPlaces(keyId: string, boot: number, count: number): void {
    const places = this.#places.get(keyId) ?? new Map<number, number>()
    if (count > 0) {
      places.set(boot, count)
      this.#places.set(keyId, places)
    } else if (places.delete(boot) && places.size === 0) this.#places.delete(keyId)
  }
}
