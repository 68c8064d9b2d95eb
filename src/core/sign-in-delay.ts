/**
 * How failed sign-ins slow down those that follow. An address that fails is refused for a while, which grows; an e-mail at which somebody fails, from wherever,
 * only makes everybody wait a little for the answer: to refuse it would let anybody lock a person out. Rules: pages.md "Failed sign-ins".
 */

import { Recent } from './recent.ts'

/** Mistyped passwords are free. */
const FREE = 5
const ADDRESS_MS = { first: 1_000, max: 60_000 } as const
const EMAIL_MS = { first: 250, max: 4_000 } as const
/** Failures older than this are forgotten, all at once. */
const FORGET_MS = 15 * 60_000
const REMEMBERED_MAX = 10_000

type Counted = { failures: number; at: number }

/** refused: to be told to come back · delayed: the answer waits so long. */
export type Attempt = Readonly<{ refusedMs: number }> | Readonly<{ delayedMs: number; succeeded: () => void }>

const growing = (failures: number, { first, max }: { first: number; max: number }): number =>
  failures < FREE ? 0 : Math.min(max, first * 2 ** (failures - FREE))

export class SignInDelays {
  readonly #addresses = new Recent<Counted>(REMEMBERED_MAX)
  readonly #emails = new Recent<Counted>(REMEMBERED_MAX)

  /** Counts as a failure until it is told that it succeeded, so that many at once are counted, too. `now`: milliseconds. */
  begin(address: string, email: string, now: number): Attempt {
    const ofAddress = current(this.#addresses, address, now)
    const openAt = ofAddress.at + growing(ofAddress.failures, ADDRESS_MS)
    if (now < openAt) return { refusedMs: openAt - now }
    const ofEmail = current(this.#emails, email, now)
    const delayedMs = growing(ofEmail.failures, EMAIL_MS)
    for (const counted of [ofAddress, ofEmail]) {
      counted.failures++
      counted.at = now
    }
    return {
      delayedMs,
      // Its own count alone: else one good sign-in would pay for any number of guesses.
      succeeded: () => {
        ofAddress.failures--
        ofEmail.failures--
      },
    }
  }
}

function current(counts: Recent<Counted>, key: string, now: number): Counted {
  const known = counts.get(key)
  if (known !== undefined && now - known.at < FORGET_MS) return known
  const fresh: Counted = { failures: 0, at: now }
  counts.set(key, fresh)
  return fresh
}
