/** How wrong guesses of a code slow down those who guess. Rules: pages.md "Codes". */

import { GrowingDelay } from '../core/growing-delay.ts'

const GROWTH = { firstMs: 1_000, maxMs: 300_000 }

/** `isNone`: takes the count back, since the text was a code, or the gateway could not find out. */
type Guess = Readonly<{ refusedMs: number }> | Readonly<{ isNone: () => void }>

/** Wrong codes slow down the person and the address that send them: both are refused for a time that grows. A person's wait locks out no other person. */
export class CodeGuesses {
  readonly #people = new GrowingDelay(GROWTH)
  readonly #addresses = new GrowingDelay(GROWTH)

  /** Counts a guess as wrong until `isNone` is called, so that many guesses at once are counted, too. `now`: milliseconds. */
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
