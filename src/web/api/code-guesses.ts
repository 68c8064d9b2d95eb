/**
 * Wrong codes slow down their person and address: both are refused for a time that grows. A person's wait locks out no other person.
 * Rules: pages.md "Codes".
 */

import { GrowingDelay } from '../../core/growing-delay.ts'

const GROWTH = { firstMs: 1_000, maxMs: 300_000 }

/** `isNone`: it was no guess, but a code, or nothing could be said of it. */
export type Guess = Readonly<{ refusedMs: number }> | Readonly<{ isNone: () => void }>

export class CodeGuesses {
  readonly #people = new GrowingDelay(GROWTH)
  readonly #addresses = new GrowingDelay(GROWTH)

  /** Counts as wrong until it is told otherwise, so that many at once are counted, too. `now`: milliseconds. */
  begin(personId: string, address: string, now: number): Guess {
    const refusedMs = Math.max(this.#people.waitMs(personId, now), this.#addresses.waitMs(address, now))
    if (refusedMs > 0) return { refusedMs }
    const counted = [this.#people.count(personId, now), this.#addresses.count(address, now)]
    return {
      isNone: () => {
        for (const takeBack of counted) takeBack()
      },
    }
  }
}
