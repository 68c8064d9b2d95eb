/**
 * Limits per client address. They count every request to the dashboard, before its key is looked at, and every unknown key: a client that keeps sending those gets 429
 * instead of 401, while good keys behind the same address are untouched. Rules: contract.md "Limits"; keys.md "Client addresses".
 */

import { type BoundedMap, boundedMap } from '../core/bounded-map.ts'
import type { Limits } from '../core/limits.ts'
import { type RateRule, step } from '../core/rate-limit.ts'
import { Refusal } from '../core/refusal.ts'

type ClientLimitsOptions = Readonly<{
  limits: () => Limits
  /** Milliseconds that never jump. */
  now: () => number
}>

const CLIENTS_MAX = 100_000
/** The limit of well-formed keys that are not ours. A mistyped key has a wrong checksum, so such a key is a guess, or is from a revoked deployment. */
const UNKNOWN_KEYS: RateRule = { perMinute: 60, burst: 120 }

/** One instance for all routes, made in `gateway.ts`. */
export class ClientLimits {
  readonly #limits: () => Limits
  readonly #now: () => number
  readonly #dashboard = boundedMap<number>(CLIENTS_MAX)
  readonly #unknownKeys = boundedMap<number>(CLIENTS_MAX)

  constructor({ limits, now }: ClientLimitsOptions) {
    this.#limits = limits
    this.#now = now
  }

  /** Counts a request to the dashboard. */
  countDashboard(clientIp: string): Refusal | undefined {
    const perMinute = this.#limits().dashboardPerMinute
    return this.#count(this.#dashboard, clientIp, { perMinute, burst: perMinute })
  }

  /** Counts a well-formed key that the ledger does not know. */
  countUnknownKey(clientIp: string): Refusal | undefined {
    return this.#count(this.#unknownKeys, clientIp, UNKNOWN_KEYS)
  }

  #count(tats: BoundedMap<number>, clientIp: string, rule: RateRule): Refusal | undefined {
    const { tat, isAllowed, retryAfterSeconds } = step(tats.get(clientIp), this.#now(), rule)
    tats.set(clientIp, tat)
    return isAllowed ? undefined : new Refusal('rateLimited', { retryAfterSeconds })
  }
}
