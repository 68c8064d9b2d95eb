/**
 * Challenges for passkeys. Any client may ask for one, and each is a row in the file, written on the loop that serves paid requests: so many a minute and address,
 * and so many for all addresses together. Rules: pages.md "Failed sign-ins".
 */

import { boundedMap } from '../core/bounded-map.ts'
import { type RateRule, step } from '../core/rate-limit.ts'

const EACH: RateRule = { perMinute: 20, burst: 20 }
const ALL: RateRule = { perMinute: 600, burst: 200 }
const REMEMBERED_MAX = 10_000

export class ChallengeTurns {
  readonly #addresses = boundedMap<number>(REMEMBERED_MAX)
  #all: number | undefined

  /** Seconds to wait, 0 where one may be made. `now`: milliseconds that never jump. */
  waitS(address: string, now: number): number {
    const each = step(this.#addresses.get(address), now, EACH)
    this.#addresses.set(address, each.tat)
    if (!each.isAllowed) return each.retryAfterSeconds
    const all = step(this.#all, now, ALL)
    this.#all = all.tat
    return all.retryAfterSeconds
  }
}
