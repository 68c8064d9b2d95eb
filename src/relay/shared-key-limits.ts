/**
 * The limits of a key that several nodes share: a node admits from the part that it has taken, takes more before that is used up, and waits only where it has
 * nothing. Rules: keys.md "Limits over nodes".
 */

import type { Limits } from '../core/limits.ts'
import { Refusal } from '../core/refusal.ts'
import type { SharedLimits } from '../ledger/shared-limits.ts'
import { KeyLimits, type Slot } from './key-limits.ts'
import { emptyShare, learn, lotAt, needOf, requestsOf, run, type Share, turn, USED_WITHIN_MS } from './limit-share.ts'

type SharedKeyLimitsOptions = Readonly<{
  limits: () => Limits
  /** Milliseconds that never jump. */
  now: () => number
  shared: SharedLimits
}>

const LOOK_MS = 1_000
/** Idle places, as a part of the used ones. */
const SPARE_PART = 0.25
/** The part of the limit that all nodes together keep idle. A node with more than twice its part returns places at once. */
const IDLE_PART = 0.25
/** How often one request asks before it is refused. */
const ASKS_MAX = 3
/** After a question without an answer, none is asked for this long. */
const PAUSE_MS = 50

export class SharedKeyLimits {
  readonly #options: SharedKeyLimitsOptions
  readonly #shares = new Map<string, Share>()
  /** This node's part of the limits, by its own clock, for the time in which Postgres does not answer. */
  readonly #alone: KeyLimits
  #nodes = 1
  /** Whether the last question had no answer. */
  #isAway = false
  #aloneUntilMs = Number.NEGATIVE_INFINITY
  #looks: ReturnType<typeof setInterval> | undefined

  constructor(options: SharedKeyLimitsOptions) {
    this.#options = options
    this.#alone = new KeyLimits({ limits: () => this.#partOfLimits(), now: options.now })
  }

  /** Admits a request, or says when to come back. Refused requests are not counted. */
  admit(keyId: string): Slot | Refusal | Promise<Slot | Refusal> {
    const share = this.#shareOf(keyId)
    const place = (): Slot => new RunningSlot(() => this.#release(share))
    return this.#use(share, 1) ? place() : this.#wait(share, 1).then((refusal) => refusal ?? place())
  }

  /** Counts a request that needs no slot because it is answered at once, such as the list of models. */
  count(keyId: string): Refusal | undefined | Promise<Refusal | undefined> {
    const share = this.#shareOf(keyId)
    return this.#use(share, 0) ? undefined : this.#wait(share, 0)
  }

  /** The refusal that the next request would get, as far as this node knows. Asking is not counted. */
  refusalNow(keyId: string): Refusal | undefined {
    const share = this.#shares.get(keyId)
    if (share === undefined) return undefined
    if (share.running >= this.#options.limits().concurrentRequests) return new Refusal('rateLimited')
    return this.#refusalOf(share, 0)
  }

  /** The requests of the key that run on this node. */
  running(keyId: string): number {
    return this.#shares.get(keyId)?.running ?? 0
  }

  close(): void {
    clearInterval(this.#looks)
    this.#looks = undefined
  }

  #shareOf(keyId: string): Share {
    const known = this.#shares.get(keyId)
    if (known !== undefined) return known
    const share = emptyShare(keyId)
    this.#shares.set(keyId, share)
    if (this.#looks === undefined) {
      this.#looks = setInterval(() => this.#look(), LOOK_MS)
      this.#looks.unref()
    }
    return share
  }

  /** `slots`: 1 or 0. A share that runs low is refilled after the request. */
  #use(share: Share, slots: number): boolean {
    const now = this.#options.now()
    const lot = lotAt(share, now)
    if (lot === undefined || (slots > 0 && share.running >= share.places)) return false
    lot.requests--
    run(share, slots)
    const isLow = requestsOf(share) < needOf(share) / 2 || share.places - share.running < (this.#placesOf(share) - share.running) / 2
    const isWorthIt = now >= share.emptyUntilMs && now >= share.fullUntilMs && now >= this.#aloneUntilMs
    if (isLow && isWorthIt && share.asking === undefined) this.#ask(share).catch(() => undefined)
    return true
  }

  async #wait(share: Share, slots: number): Promise<Refusal | undefined> {
    share.waiting++
    try {
      // A question that is under way may have been asked before this request came, so it may not be enough.
      if (share.asking !== undefined) await share.asking
      if (this.#use(share, slots)) return undefined
      const refusal = this.#refusalOf(share, slots)
      if (refusal !== undefined) return refusal
      return await this.#askAndUse(share, slots)
    } finally {
      share.waiting--
    }
  }

  /**
   * Asks again where an answer refuses nothing and gives nothing: what it granted has expired on its way here, or others that waited here have used it. Where each
   * answer has expired the nodes cannot be asked in time, which is as if nobody answered.
   */
  async #askAndUse(share: Share, slots: number): Promise<Refusal | undefined> {
    let late = 0
    for (let asks = 0; asks < ASKS_MAX; asks++) {
      const askedMs = this.#options.now()
      if (askedMs >= this.#aloneUntilMs) await this.#ask(share)
      if (this.#options.now() - askedMs >= USED_WITHIN_MS) late++
      if (this.#options.now() < this.#aloneUntilMs) return this.#useAlone(share, slots)
      if (this.#use(share, slots)) return undefined
      const refusal = this.#refusalOf(share, slots)
      if (refusal !== undefined) return refusal
    }
    return late === ASKS_MAX ? this.#useAlone(share, slots) : new Refusal('rateLimited', { retryAfterSeconds: 1 })
  }

  /** Admits without word of the other nodes, up to this node's part of the limits. */
  #useAlone(share: Share, slots: number): Refusal | undefined {
    if (slots > 0 && share.running >= this.#partOfLimits().concurrentRequests) return new Refusal('rateLimited')
    const refusal = this.#alone.count(share.keyId)
    if (refusal === undefined) run(share, slots)
    return refusal
  }

  #release(share: Share): void {
    share.running--
    this.#returnIdle(share)
  }

  /** Where few requests may run at once, a free place returns to the nodes at once: another node may need it. */
  #returnIdle(share: Share): void {
    const idle = share.places - share.running - share.waiting
    if (idle <= 2 * this.#idleMax() || share.asking !== undefined || this.#options.now() < this.#aloneUntilMs) return
    this.#ask(share).catch(() => undefined)
  }

  #refusalOf(share: Share, slots: number): Refusal | undefined {
    const now = this.#options.now()
    const isFull = share.running >= this.#options.limits().concurrentRequests || (share.running >= share.places && now < share.fullUntilMs)
    if (slots > 0 && isFull) return new Refusal('rateLimited')
    if (lotAt(share, now) !== undefined || now >= share.emptyUntilMs) return undefined
    return new Refusal('rateLimited', { retryAfterSeconds: Math.max(1, Math.ceil((share.emptyUntilMs - now) / 1_000)) })
  }

  #ask(share: Share): Promise<void> {
    share.asking ??= this.#take(share).finally(() => {
      share.asking = undefined
      this.#returnIdle(share)
    })
    return share.asking
  }

  async #take(share: Share): Promise<void> {
    const { limits, now, shared } = this.#options
    const { requestsPerMinute: perMinute, concurrentRequests: atOnce } = limits()
    const sentMs = now()
    const requests = Math.min(perMinute, share.waiting + needOf(share))
    const places = Math.min(atOnce, Math.max(share.running + share.waiting, this.#placesOf(share)))
    // The places that this question gives back are no longer used from here on.
    share.places = Math.min(share.places, places)
    const grant = await shared.take({ keyId: share.keyId, requests, places, perMinute, atOnce })
    this.#isAway = grant === 'unavailable'
    if (grant === 'unavailable') {
      share.isIndeterminate = true
      this.#aloneUntilMs = now() + PAUSE_MS
      return
    }
    this.#nodes = grant.nodes
    learn(share, grant, { requests, places, sentMs }, now())
  }

  /**
   * Returns what is not needed any more, also what may still be taken because an answer was lost, and forgets keys that are not used. While no question is answered
   * it asks for one key.
   */
  #look(): void {
    let hasAsked = false
    for (const share of this.#shares.values()) {
      turn(share)
      const isQuiet = share.running === 0 && share.waiting === 0 && share.usesBefore === 0 && share.asking === undefined
      const hasIdle = share.isIndeterminate || share.places > this.#placesOf(share)
      if (isQuiet && share.places === 0 && !share.isIndeterminate) this.#shares.delete(share.keyId)
      else if (share.asking === undefined && hasIdle && !(this.#isAway && hasAsked)) {
        hasAsked = true
        this.#ask(share).catch(() => undefined)
      }
    }
    if (this.#shares.size === 0) this.close()
  }

  /** The concurrent requests of the last second and a few more, as far as other nodes keep enough. */
  #placesOf({ running, peak, peakBefore }: Share): number {
    const most = Math.max(peak, peakBefore)
    return Math.min(most + Math.floor(most * SPARE_PART), running + this.#idleMax())
  }

  #idleMax(): number {
    return Math.floor((this.#options.limits().concurrentRequests * IDLE_PART) / this.#nodes)
  }

  #partOfLimits(): Limits {
    const limits = this.#options.limits()
    const part = (whole: number): number => Math.max(1, Math.floor(whole / this.#nodes))
    return { ...limits, requestsPerMinute: part(limits.requestsPerMinute), concurrentRequests: part(limits.concurrentRequests) }
  }
}

class RunningSlot implements Slot {
  readonly #release: () => void
  #isHeld = true

  constructor(release: () => void) {
    this.#release = release
  }

  release(): void {
    if (!this.#isHeld) return
    this.#isHeld = false
    this.#release()
  }
}
