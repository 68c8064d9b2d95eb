/**
 * The accounts for which an upstream is busy with a model. A 429, 503 or 529 is as often about one account's requests as about the upstream: the upstream is out for
 * the account that met one, and for all accounts only when several did. Pure. Rules: pool.md "Busy".
 */

import { boundedMap } from '../core/bounded-map.ts'

/** The wait where the upstream names none. */
const OUT_MS = 15_000
/** The longest wait: an upstream that asks for more is asked again after this all the same. */
const OUT_MS_MAX = 300_000
const WINDOW_MS = 10_000
/** From this many accounts in the window on, the cause is the upstream. */
const ACCOUNTS_FOR_ALL = 3
const ACCOUNTS_MAX = 10_000

/** For how long the upstream is out for all accounts, and when the first refusal that led to it came: an answer to a call that began later disproves it. */
export type BusyForAll = Readonly<{ outMs: number; sinceMs: number }>

export class BusyAccounts {
  readonly #out = boundedMap<Readonly<{ untilMs: number; refusedAt: number }>>(ACCOUNTS_MAX)
  readonly #refused = new LatestAccounts()
  readonly #called = new LatestAccounts()

  outUntil(accountId: string, now: number): number | undefined {
    const out = this.#out.get(accountId)
    return out !== undefined && out.untilMs > now ? out.untilMs : undefined
  }

  /** An account that called and was not refused counts as one that the upstream serves. */
  called(accountId: string, now: number): void {
    this.#called.add(accountId, now)
  }

  /** Notes that the upstream refused the account. Undefined when the upstream is out for this account alone. */
  refused(accountId: string, now: number, retryAfterMs: number | undefined): BusyForAll | undefined {
    const outMs = Math.min(retryAfterMs ?? OUT_MS, OUT_MS_MAX)
    this.#out.set(accountId, { untilMs: Math.max(this.outUntil(accountId, now) ?? 0, now + outMs), refusedAt: now })
    this.#refused.add(accountId, now)
    const refused = this.#refused.since(now - WINDOW_MS)
    const callers = this.#called.since(now - WINDOW_MS)
    const isForAll = refused.size >= ACCOUNTS_FOR_ALL || (refused.size > 1 && [...callers.keys()].every((caller) => refused.has(caller)))
    return isForAll && outMs > 0 ? { outMs, sinceMs: Math.min(...refused.values()) } : undefined
  }

  /** A call that began at `begunAt` was answered: earlier refusals then say nothing of other accounts, and one of this account is forgotten. */
  answered(accountId: string, begunAt: number): void {
    const out = this.#out.get(accountId)
    if (out !== undefined && out.refusedAt <= begunAt) this.#out.delete(accountId)
    this.#refused.dropUntil(begunAt)
  }
}

/** The latest accounts by their time, as many as counting to three needs. */
class LatestAccounts {
  readonly #at = new Map<string, number>()

  add(accountId: string, now: number): void {
    this.#at.delete(accountId)
    this.#at.set(accountId, now)
    if (this.#at.size <= ACCOUNTS_FOR_ALL) return
    const [oldest] = this.#at.keys()
    if (oldest !== undefined) this.#at.delete(oldest)
  }

  since(ms: number): ReadonlyMap<string, number> {
    this.dropUntil(ms)
    return this.#at
  }

  dropUntil(ms: number): void {
    for (const [accountId, at] of this.#at) {
      if (at > ms) return
      this.#at.delete(accountId)
    }
  }
}
