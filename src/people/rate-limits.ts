/**
 * How often pages may ask for what costs the gateway or a third party something: changes, challenges for passkeys, mails. Rules: pages.md "People", "Failed sign-ins",
 * "Mail".
 */

import { boundedMap } from '../core/bounded-map.ts'
import { type RateRule, step } from '../core/rate-limit.ts'

const REMEMBERED_MAX = 10_000

/** Limits what each person does. */
export class PersonTurns {
  readonly #rule: RateRule
  readonly #people = boundedMap<{ tat: number }>(REMEMBERED_MAX)

  constructor(rule: RateRule) {
    this.#rule = rule
  }

  /** Counts an act and returns 0 where it may be done; otherwise the seconds to wait, and the act is not counted. `now`: milliseconds that never jump. */
  take(personId: string, now: number): number {
    const { tat, isAllowed, retryAfterSeconds } = step(this.#people.get(personId)?.tat, now, this.#rule)
    this.#people.set(personId, { tat })
    return isAllowed ? 0 : retryAfterSeconds
  }
}

/** Changes are limited: each is a durable commit with its line in the audit log, and competes with the settles of paid requests. */
export const CHANGES: RateRule = { perMinute: 120, burst: 120 }
/** The rate at which a person may ask for pages to pay on. */
export const CHECKOUTS: RateRule = { perMinute: 10, burst: 10 }

/** The rate of all sign-ups together is limited, since an account stays in the ledger, and a mail may go to a stranger. */
const SIGN_UPS: RateRule = { perMinute: 30, burst: 100 }

export class SignUpTurns {
  #tat: number | undefined

  /** Counts a sign-up and returns 0 where it may begin; otherwise the seconds to wait. `now`: milliseconds that never jump. */
  waitS(now: number): number {
    const { tat, retryAfterSeconds } = step(this.#tat, now, SIGN_UPS)
    this.#tat = tat
    return retryAfterSeconds
  }
}

const CHALLENGES_EACH: RateRule = { perMinute: 20, burst: 20 }
const CHALLENGES_ALL: RateRule = { perMinute: 600, burst: 200 }

/**
 * Limits challenges for passkeys, for each address and for all addresses together. Any client may ask for one, and each is a row in the file, written on the loop that
 * serves paid requests.
 */
export class ChallengeTurns {
  readonly #addresses = boundedMap<number>(REMEMBERED_MAX)
  #all: number | undefined

  /** Counts a challenge and returns 0 where it may be made; otherwise the seconds to wait. `now`: milliseconds that never jump. */
  waitS(address: string, now: number): number {
    const each = step(this.#addresses.get(address), now, CHALLENGES_EACH)
    this.#addresses.set(address, each.tat)
    if (!each.isAllowed) return each.retryAfterSeconds
    const all = step(this.#all, now, CHALLENGES_ALL)
    this.#all = all.tat
    return all.retryAfterSeconds
  }
}

/** As for unknown keys: a link is followed as it is, so one that is not there is a guess, or has been used. */
const UNKNOWN_LINKS: RateRule = { perMinute: 60, burst: 120 }

/** Limits links that are not there, for each address, before the store is asked: anyone may send one. */
export class UnknownLinkTurns {
  readonly #addresses = boundedMap<number>(REMEMBERED_MAX)

  /** Counts a look and returns 0 where it may be made; otherwise the seconds to wait. `now`: milliseconds that never jump. */
  waitS(address: string, now: number): number {
    const { tat, isAllowed, retryAfterSeconds } = step(this.#addresses.get(address), now, UNKNOWN_LINKS)
    this.#addresses.set(address, tat)
    return isAllowed ? 0 : retryAfterSeconds
  }

  /** What was counted is there. */
  giveBack(address: string): void {
    const tat = this.#addresses.get(address)
    if (tat !== undefined) this.#addresses.set(address, tat - 60_000 / UNKNOWN_LINKS.perMinute)
  }
}

const FIRST_PAUSE_MS = 60_000
/** The longest pause, which is as long as a link lives. */
const PAUSE_MS_MAX = 3_600_000
/** After this long without a mail the pauses begin anew. */
const FORGET_MS = 6 * PAUSE_MS_MAX

/**
 * Limits mails to an address, for all callers together: the first mail of a kind goes at once, the next after a minute, then two, four, up to an hour. So a mailbox
 * cannot be flooded, and a person who asks for a link has one that still works.
 */
export class MailTurns {
  readonly #sent = boundedMap<{ at: number; pauseMs: number }>(REMEMBERED_MAX)

  /** Whether the mail may go now; if so, it is counted. `now`: milliseconds that never jump. */
  take(email: string, kind: string, now: number): boolean {
    const key = `${kind} ${email}`
    const last = this.#sent.get(key)
    if (last !== undefined && now - last.at < last.pauseMs) return false
    const goesOn = last !== undefined && now - last.at < FORGET_MS
    this.#sent.set(key, { at: now, pauseMs: goesOn ? Math.min(PAUSE_MS_MAX, last.pauseMs * 2) : FIRST_PAUSE_MS })
    return true
  }
}
