/** How failures slow down what follows them: a few are free, then the wait doubles up to a bound. Rules: pages.md "Failed sign-ins", "Codes". */

import { boundedMap } from './bounded-map.ts'

/** Of the first failure that is not free, and of any. Milliseconds. */
export type Growth = Readonly<{ firstMs: number; maxMs: number }>

/** What people mistype is free. */
const FREE = 5
/** Failures older than this are forgotten, all at once. */
const FORGET_MS = 15 * 60_000
const REMEMBERED_MAX = 10_000

/** Failures by their origin: an address, an e-mail, a person. */
export class GrowingDelay {
  readonly #growth: Growth
  readonly #failed = boundedMap<{ failures: number; at: number }>(REMEMBERED_MAX)

  constructor(growth: Growth) {
    this.#growth = growth
  }

  /** How long after its last failure `who` is to wait. `now`: milliseconds, as everywhere here. */
  delayMs(who: string, now: number): number {
    const { firstMs, maxMs } = this.#growth
    const { failures } = this.#of(who, now)
    return failures < FREE ? 0 : Math.min(maxMs, firstMs * 2 ** (failures - FREE))
  }

  /** How much of that is still to come. */
  waitMs(who: string, now: number): number {
    return Math.max(0, this.#of(who, now).at + this.delayMs(who, now) - now)
  }

  /** Counts a failure; what it gives takes this one back, and no other. */
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
