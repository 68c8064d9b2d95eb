/** How failures delay the next attempt: a few are free, then each failure doubles the wait, up to a bound. Rules: pages.md "Failed sign-ins", "Codes". */

import { boundedMap } from './bounded-map.ts'

/** The wait after the first failure that is not free, and the longest wait. Milliseconds. */
export type Growth = Readonly<{ firstMs: number; maxMs: number }>

/** So many failures cost no wait: people mistype. */
const FREE = 5
/** When the last failure is older than this, all failures of its origin are forgotten. */
const FORGET_MS = 15 * 60_000
const REMEMBERED_MAX = 10_000

/** Failures by their origin: an address, an e-mail, a person. */
export class GrowingDelay {
  readonly #growth: Growth
  readonly #failed = boundedMap<{ failures: number; at: number }>(REMEMBERED_MAX)

  constructor(growth: Growth) {
    this.#growth = growth
  }

  /** How long `who` must wait, counted from its last failure. `now` is in milliseconds, as everywhere in this class. */
  delayMs(who: string, now: number): number {
    const { firstMs, maxMs } = this.#growth
    const { failures } = this.#of(who, now)
    return failures < FREE ? 0 : Math.min(maxMs, firstMs * 2 ** (failures - FREE))
  }

  /** How much of `delayMs` is still to come at `now`. */
  waitMs(who: string, now: number): number {
    return Math.max(0, this.#of(who, now).at + this.delayMs(who, now) - now)
  }

  /** Counts a failure; the function that it returns takes back this one failure. */
  count(who: string, now: number): () => void {
    const counted = this.#of(who, now)
    counted.failures++
    counted.at = now
    return () => {
      counted.failures--
    }
  }

  #of(who: string, now: number): { failures: number; at: number } {
    const known = this.#failed.get(who)
    if (known !== undefined && now - known.at < FORGET_MS) return known
    const fresh = { failures: 0, at: now }
    this.#failed.set(who, fresh)
    return fresh
  }
}
