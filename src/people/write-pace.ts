/**
 * How many changes a person may make on the pages: each is a durable commit with its line in the audit log, and competes with the settles of paid requests.
 * Rules: pages.md "People".
 */

import { boundedMap } from '../core/bounded-map.ts'
import { step } from '../core/rate-limit.ts'

const CHANGES = { perMinute: 120, burst: 120 }
const PEOPLE_REMEMBERED_MAX = 10_000

export class WritePace {
  readonly #people = boundedMap<{ tat: number }>(PEOPLE_REMEMBERED_MAX)

  /** Counts one. Seconds to wait, and it is not counted; 0: go on. `now`: milliseconds that never jump. */
  take(personId: string, now: number): number {
    const { tat, isAllowed, retryAfterSeconds } = step(this.#people.get(personId)?.tat, now, CHANGES)
    this.#people.set(personId, { tat })
    return isAllowed ? 0 : retryAfterSeconds
  }
}
