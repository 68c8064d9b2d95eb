/**
 * How failed sign-ins slow down later ones. A failing address is refused for a time that grows. An e-mail with failures, from any address, only makes every
 * attempt wait a little for its answer: refusing it would let strangers lock a person out. Rules: pages.md "Failed sign-ins".
 */

import { GrowingDelay } from './growing-delay.ts'

/** `refusedMs`: the attempt is refused, and may come back after this time · `delayedMs`: the answer waits this long. */
export type Attempt = Readonly<{ refusedMs: number }> | Readonly<{ delayedMs: number; succeeded: () => void }>

export class SignInDelays {
  readonly #addresses = new GrowingDelay({ firstMs: 1_000, maxMs: 60_000 })
  readonly #emails = new GrowingDelay({ firstMs: 250, maxMs: 4_000 })

  /** Begins an attempt, which counts as a failure until `succeeded` is called, so that many at once are counted, too. `now`: milliseconds. */
  begin(address: string, email: string, now: number): Attempt {
    const refusedMs = this.#addresses.waitMs(address, now)
    if (refusedMs > 0) return { refusedMs }
    const delayedMs = this.#emails.delayMs(email, now)
    const counted = [this.#addresses.count(address, now), this.#emails.count(email, now)]
    return {
      delayedMs,
      // A success takes back only its own count: else one good sign-in would pay for any number of guesses.
      succeeded: () => {
        for (const takeBack of counted) takeBack()
      },
    }
  }
}
