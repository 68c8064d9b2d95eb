/**
 * How many calls may be second tries: a tenth of the requests, and three a second however few requests there are. More would turn an upstream's trouble into a storm on
 * the others. The first failures of an upstream are outside of that budget. Pure. Rules: pool.md "Retry budget".
 */

import { boundedMap } from '../core/bounded-map.ts'

export type BudgetRule = Readonly<{ share: number; perSecond: number }>

const RETRY_BUDGET: BudgetRule = { share: 0.1, perSecond: 3 }
/** The account's part of the tenth: an account whose requests always fail leaves some for the others. */
const ACCOUNT_BUDGET: BudgetRule = { share: 0.1, perSecond: 2 }
const ACCOUNTS_MAX = 10_000
/** An upstream that begins to fail is no storm yet: its requests go on to the others until its breaker knows. */
const FREE_FAILURES = 20
const FREE_WINDOW_MS = 10_000
const UPSTREAMS_MAX = 1_000
/** An unused second try expires after this: a quiet hour does not pay for a storm. */
const KEPT_SECONDS = 10

export class RetryBudget {
  readonly #rule: BudgetRule
  #tokens: number
  #at: number
  #recentRequests = 0

  constructor(now: number, rule: BudgetRule = RETRY_BUDGET) {
    this.#rule = rule
    this.#tokens = rule.perSecond
    this.#at = now
  }

  /** Counts a request that came in. */
  earn(now: number): void {
    this.#refill(now)
    this.#recentRequests++
    this.#tokens = Math.min(this.#tokens + this.#rule.share, this.#cap())
  }

  /** Takes leave for one more call of a request; false: the budget is spent. */
  take(now: number): boolean {
    this.#refill(now)
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }

  /** `now` in milliseconds of a clock that never jumps back; one that does adds nothing. */
  #refill(now: number): void {
    const seconds = Math.max(0, now - this.#at) / 1_000
    this.#at = Math.max(this.#at, now)
    this.#recentRequests *= Math.max(0, 1 - seconds / KEPT_SECONDS)
    this.#tokens = Math.min(this.#tokens + seconds * this.#rule.perSecond, this.#cap())
  }

  #cap(): number {
    return this.#rule.perSecond + this.#recentRequests * this.#rule.share
  }
}

/** The budget of all requests, the part of it that one account may take, and the first failures of an upstream, which take nothing of either. */
export class RetryBudgets {
  readonly #all: RetryBudget
  readonly #failures = boundedMap<{ sinceMs: number; count: number }>(UPSTREAMS_MAX)
  readonly #accounts = boundedMap<RetryBudget>(ACCOUNTS_MAX)

  constructor(now: number) {
    this.#all = new RetryBudget(now)
  }

  earn(accountId: string, now: number): void {
    this.#all.earn(now)
    this.#of(accountId, now).earn(now)
  }

  /** Takes leave for one more call of a request that `upstream` failed; false: there is none. */
  take(accountId: string, upstream: string, now: number): boolean {
    return this.#isFirst(upstream, now) || (this.#of(accountId, now).take(now) && this.#all.take(now))
  }

  #isFirst(upstream: string, now: number): boolean {
    const known = this.#failures.get(upstream)
    if (known !== undefined && now - known.sinceMs < FREE_WINDOW_MS) return ++known.count <= FREE_FAILURES
    this.#failures.set(upstream, { sinceMs: now, count: 1 })
    return true
  }

  #of(accountId: string, now: number): RetryBudget {
    const known = this.#accounts.get(accountId)
    if (known !== undefined) return known
    const budget = new RetryBudget(now, ACCOUNT_BUDGET)
    this.#accounts.set(accountId, budget)
    return budget
  }
}
