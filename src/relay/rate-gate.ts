/**
 * The rates of plans and keys: requests, tokens and requests at once. A request is counted in the buckets of all its owners or in none; its end corrects what was counted.
 * Rules: keys.md "Rates", "Rate headers".
 */

import { boundedMap } from '../core/bounded-map.ts'
import type { Catalog } from '../core/catalog.ts'
import type { KeyRecord } from '../core/key.ts'
import { rateHeaders } from '../core/rate-headers.ts'
import { Refusal } from '../core/refusal.ts'
import {
  type Amounts,
  amountsOf,
  changed,
  comingBack,
  type Levels,
  levelsAt,
  type RateLimits,
  type Wanted,
  waitMsFor,
} from '../core/token-buckets.ts'
import type { Usage } from '../core/usage.ts'
import type { CountedRates } from '../ledger/counted-rates.ts'
import type { RateAnswer, RateAsk, RateOwner } from '../ledger/shared-rates.ts'

/** What a key has to keep to: its own rates, or those of its account over all keys of its plan. `running`: the owner's requests that run here, with those that ask. */
export type CountedOwner = Readonly<{ name: string; limits: RateLimits; running: () => number }>

/** Where requests are counted: in this process, or in one place for all. `trustedMs`: how long its last word about an owner may refuse further requests. */
export type RateStore = Readonly<{
  trustedMs: number
  take(owners: readonly CountedOwner[], asked: Omit<RateAsk, 'owners'>): RateAnswer | Promise<RateAnswer>
  correct(owner: CountedOwner, amounts: Amounts): void
}>

/** An owner as it is asked about, with the count of now. */
export const askingOf = ({ name, limits, running }: CountedOwner): RateOwner => ({ name, limits, running: running() })

/** The store of a process that answers alone. */
export const ratesHere = (counted: CountedRates): RateStore => ({
  trustedMs: Number.POSITIVE_INFINITY,
  take: (owners, asked) => counted.take(0, { ...asked, owners: owners.map(askingOf) }),
  correct: (owner, amounts) => counted.correct(0, [{ owner: askingOf(owner), amounts }]),
})

/** A request that is counted. Each of the ends may come more than once, and after another: only the first counts. */
export type Rated = Readonly<{
  /** The tokens that it used. Cache reads do not count, as at the vendor. */
  settle(usage: Usage): void
  /** It has ended: its place is free, and without a settle its tokens were none. */
  release(): void
  /** It was refused after all: it counts as never asked. */
  cancel(): void
}>

/** `limits`: those of the owner's last request. */
type View = { levels: Levels; limits: RateLimits; heardAtMs: number; fullUntilMs: number }

/** What a request took more, or less, than was counted of it. */
type Correction = Readonly<{ amounts: Amounts; counted: Amounts; atMs: number }>

type RateGateOptions = Readonly<{
  catalog: () => Catalog
  /** Milliseconds that never jump. */
  now: () => number
  /** Unix milliseconds. */
  wallNow: () => number
  store: RateStore
}>

/** Owners beyond these are asked about anew. */
const VIEWS_MAX = 100_000
/** How long an owner whose places are taken elsewhere is believed to be full. */
const FULL_MS = 50
const NO_TOKENS: Wanted = { inputTokens: null }
const NO_OWNERS: readonly CountedOwner[] = []

export class RateGate {
  readonly #options: RateGateOptions
  readonly #running = new Map<string, number>()
  /** What was last heard of each owner; what flows back since is reckoned. */
  readonly #views = boundedMap<View>(VIEWS_MAX)

  constructor(options: RateGateOptions) {
    this.#options = options
  }

  /** The refusal that a request of the key would get, as far as is known here. Asking does not count. */
  look(key: KeyRecord): Refusal | undefined {
    return this.#refusalOf(this.#ownersOf(key), { inputTokens: 0 }, 1)
  }

  /** Whether it is requests at once of which the key has too many. */
  isFull(key: KeyRecord): boolean {
    return this.#ownersOf(key).some(({ limits, running }) => limits.concurrentRequests !== null && running() >= limits.concurrentRequests)
  }

  /** Lets a request in that takes so many tokens of input. null: it has no tokens to count, such as `count_tokens`. */
  admit(key: KeyRecord, inputTokens: number | null): Rated | Refusal | Promise<Rated | Refusal> {
    return this.#take(this.#ownersOf(key), { inputTokens }, 1)
  }

  /** Counts a request that is answered at once, such as the list of models. */
  async count(key: KeyRecord): Promise<Refusal | undefined> {
    const counted = await this.#take(this.#ownersOf(key), NO_TOKENS, 0)
    return counted instanceof Refusal ? counted : undefined
  }

  /** How the key's rates stand now, as both vendors say it; empty where it has none. */
  headers(key: KeyRecord): Record<string, string> {
    const owners = this.#ownersOf(key)
    if (owners.length === 0) return {}
    const { wallNow } = this.#options
    return rateHeaders(
      owners.map(({ name, limits }) => ({ limits, levels: this.#levelsOf(name, limits) })),
      wallNow(),
    )
  }

  /** The key first, then its account over all keys of the plan: in one order everywhere. */
  #ownersOf({ id, accountId, plan, rates }: KeyRecord): readonly CountedOwner[] {
    const ofPlan = this.#options.catalog().plans.get(plan)?.rates
    if (rates == null && ofPlan === undefined) return NO_OWNERS
    const owner = (name: string, limits: RateLimits): CountedOwner => ({ name, limits, running: () => this.#runningOf(name) })
    const ofKey = rates == null ? [] : [owner(`key ${id}`, rates)]
    return ofPlan === undefined ? ofKey : [...ofKey, owner(`plan ${accountId} ${plan}`, ofPlan)]
  }

  #levelsOf(name: string, limits: RateLimits): Levels {
    return levelsAt(this.#views.get(name)?.levels, limits, this.#options.now())
  }

  #refusalOf(owners: readonly CountedOwner[], wanted: Wanted, slots: 0 | 1): Refusal | undefined {
    const { now, store } = this.#options
    const nowMs = now()
    for (const { name, limits } of owners) {
      const view = this.#views.get(name)
      const isFull =
        limits.concurrentRequests !== null && (this.#runningOf(name) >= limits.concurrentRequests || nowMs < (view?.fullUntilMs ?? 0))
      if (slots > 0 && isFull) return new Refusal('rateLimited')
      if (view === undefined || nowMs - view.heardAtMs > store.trustedMs) continue
      const waitMs = waitMsFor(levelsAt(view.levels, limits, nowMs), limits, wanted)
      if (waitMs > 0) return new Refusal('rateLimited', { retryAfterSeconds: waitMs / 1_000 })
    }
    return undefined
  }

  #take(owners: readonly CountedOwner[], wanted: Wanted, slots: 0 | 1): Rated | Refusal | Promise<Rated | Refusal> {
    if (owners.length === 0) return UNRATED
    const refusal = this.#refusalOf(owners, wanted, slots)
    if (refusal !== undefined) return refusal
    for (const { name } of owners) this.#run(name, slots)
    const answer = this.#options.store.take(owners, { wanted, slots })
    const learn = (given: RateAnswer): Rated | Refusal => this.#learn(owners, wanted, slots, given)
    return answer instanceof Promise ? answer.then(learn) : learn(answer)
  }

  #learn(owners: readonly CountedOwner[], wanted: Wanted, slots: 0 | 1, { isAdmitted, owners: standings }: RateAnswer): Rated | Refusal {
    const nowMs = this.#options.now()
    let waitMs = 0
    for (const [index, { name, limits }] of owners.entries()) {
      const standing = standings[index]
      if (standing === undefined) continue
      const { isFull, ...levels } = standing
      if (!isAdmitted && !isFull) waitMs = Math.max(waitMs, waitMsFor(levels, limits, wanted))
      this.#views.set(name, { levels: { ...levels, atMs: nowMs }, limits, heardAtMs: nowMs, fullUntilMs: isFull ? nowMs + FULL_MS : 0 })
      if (!isAdmitted) this.#run(name, -slots)
    }
    if (!isAdmitted) return new Refusal('rateLimited', { retryAfterSeconds: waitMs / 1_000 })
    const counted = amountsOf(wanted)
    return new CountedRequest(counted, (amounts, isOver) => this.#correct(owners, { amounts, counted, atMs: nowMs }, isOver ? slots : 0))
  }

  /** `atMs`: when the request was counted. The limits may have changed since: those hold that the last request was counted by. */
  #correct(owners: readonly CountedOwner[], { amounts, counted, atMs }: Correction, slots: number): void {
    const passedMs = this.#options.now() - atMs
    for (const owner of owners) {
      this.#run(owner.name, -slots)
      const view = this.#views.get(owner.name)
      const limits = view?.limits ?? owner.limits
      const owed = comingBack(amounts, counted, limits, passedMs)
      if (view !== undefined) view.levels = changed(this.#levelsOf(owner.name, limits), limits, owed)
      this.#options.store.correct({ ...owner, limits }, owed)
    }
  }

  #runningOf(name: string): number {
    return this.#running.get(name) ?? 0
  }

  #run(name: string, slots: number): void {
    const running = this.#runningOf(name) + slots
    if (running > 0) this.#running.set(name, running)
    else this.#running.delete(name)
  }
}

const UNRATED: Rated = { settle: () => undefined, release: () => undefined, cancel: () => undefined }

class CountedRequest implements Rated {
  readonly #counted: Amounts
  readonly #correct: (amounts: Amounts, isOver: boolean) => void
  #isSettled = false
  #isOver = false

  constructor(counted: Amounts, correct: (amounts: Amounts, isOver: boolean) => void) {
    this.#counted = counted
    this.#correct = correct
  }

  settle({ input, output, cacheWrite5m, cacheWrite1h }: Usage): void {
    if (this.#isSettled || this.#isOver) return
    this.#isSettled = true
    this.#correct({ requests: 0, input: input + cacheWrite5m + cacheWrite1h - this.#counted.input, output }, false)
  }

  release(): void {
    this.#end(0)
  }

  cancel(): void {
    this.#end(-this.#counted.requests)
  }

  #end(requests: number): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#correct({ requests, input: this.#isSettled ? 0 : -this.#counted.input, output: 0 }, true)
  }
}
