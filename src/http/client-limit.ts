/**
 * Limits per client address. They count every request to the dashboard, before its key is looked at, and every unknown key: a client that keeps sending those gets 429
 * instead of 401, while good keys behind the same address are untouched. Relays of one ledger process count together. Rules: contract.md "Limits"; keys.md "Client addresses".
 */

import { boundedMap } from '../core/bounded-map.ts'
import type { Limits } from '../core/limits.ts'
import { type RateRule, step } from '../core/rate-limit.ts'
import { Refusal } from '../core/refusal.ts'
import type { SharedLimits } from '../ledger/shared-limits.ts'
import { SharedKeyLimits } from '../relay/shared-key-limits.ts'

type ClientLimitsOptions = Readonly<{
  limits: () => Limits
  /** Milliseconds that never jump. */
  now: () => number
  /** Present where several relays answer. */
  shared?: SharedLimits | undefined
}>

export type Counted = Refusal | undefined | Promise<Refusal | undefined>
type Gate = Readonly<{ count(clientIp: string): Counted }>

const CLIENTS_MAX = 100_000
/** The limit of well-formed keys that are not ours. A mistyped key has a wrong checksum, so such a key is a guess, or is from a revoked deployment. */
const UNKNOWN_KEYS: RateRule = { perMinute: 60, burst: 120 }

/** One instance for all routes, made in `gateway.ts`. */
export class ClientLimits {
  readonly #dashboard: Gate
  readonly #unknownKeys: Gate

  constructor(options: ClientLimitsOptions) {
    const gateOf = (what: string, rule: () => RateRule): Gate =>
      options.shared === undefined ? gateHere(options, rule) : gateOverLink({ ...options, shared: options.shared }, what, rule)
    this.#dashboard = gateOf('dashboard', () => {
      const perMinute = options.limits().dashboardPerMinute
      return { perMinute, burst: perMinute }
    })
    this.#unknownKeys = gateOf('unknown key', () => UNKNOWN_KEYS)
  }

  /** Counts a request to the dashboard. */
  countDashboard(clientIp: string): Counted {
    return this.#dashboard.count(clientIp)
  }

  /** Counts a well-formed key that the ledger does not know. */
  countUnknownKey(clientIp: string): Counted {
    return this.#unknownKeys.count(clientIp)
  }
}

function gateHere({ now }: ClientLimitsOptions, rule: () => RateRule): Gate {
  const tats = boundedMap<number>(CLIENTS_MAX)
  return {
    count(clientIp) {
      const { tat, isAllowed, retryAfterSeconds } = step(tats.get(clientIp), now(), rule())
      tats.set(clientIp, tat)
      return isAllowed ? undefined : new Refusal('rateLimited', { retryAfterSeconds })
    },
  }
}

/** `what`: is counted apart from what else the client does. */
function gateOverLink(
  { limits, now, shared }: ClientLimitsOptions & Readonly<{ shared: SharedLimits }>,
  what: string,
  rule: () => RateRule,
): Gate {
  return new SharedKeyLimits({
    limits: () => ({ ...limits(), requestsPerMinute: rule().perMinute }),
    now,
    shared: { take: (ask) => shared.take({ ...ask, keyId: `${what} ${ask.keyId}`, burst: rule().burst }) },
  })
}
