/**
 * Builds operations on keys from what people enter, for the command line and the pages alike: a new key, a new secret, some more days. A secret is shown once, to the person
 * who asked for it: the ledger gets its hash. Rules: keys.md "Secrets", "Expiry and rotation".
 */

import { displayOf, makeSecret } from '../../core/key.ts'
import { KEY_EXPIRY_DAYS_MAX, type Limits } from '../../core/limits.ts'
import type { Picos } from '../../core/money.ts'
import { type RateLimits, type ratesAsSet, ratesWith } from '../../core/token-buckets.ts'
import { DAY_MS } from '../../core/utc.ts'
import type { OperationOf, TopUp } from '../operation.ts'
import { newId } from './new-id.ts'
import { hashOf } from './secret-hash.ts'

/** `accountId` null: the key gets an account of its own. `expiresInDays` null: the key never expires. */
export type WantedKey = Readonly<{
  keyId: string
  name: string
  accountId: string | null
  plan: string
  limitPicos: Picos | null
  expiresInDays: number | null
  topUp: TopUp | null
}>

/** Gives some random bytes at each call. */
export type RandomBytes = () => Uint8Array

const machineRandom: RandomBytes = () => crypto.getRandomValues(new Uint8Array(64))

export function newKey(
  { expiresInDays, ...wanted }: WantedKey,
  now: number,
  random?: RandomBytes,
): Readonly<{ operation: OperationOf<'createKey'>; secret: string }> {
  const { secret, ...stored } = newSecret(random)
  const expiresAt = expiresInDays === null ? null : now + expiresInDays * DAY_MS
  return { secret, operation: { kind: 'createKey', ...wanted, ...stored, ownAccountId: newId('acc', now), expiresAt, now } }
}

const HOUR_MS = 3_600_000
export const OVERLAP_HOURS_MAX = 24 * KEY_EXPIRY_DAYS_MAX

/** The beginning of the refusal of a rotation that would end an old secret before its promised time. */
export const PROMISED = 'an earlier rotation promised the old secret'

/** The old secret stays valid for `overlapHours`. `endsPromised`: even if an earlier rotation promised a secret for longer. */
export function rotation(
  keyId: string,
  { overlapHours, endsPromised }: Readonly<{ overlapHours: number; endsPromised: boolean | undefined }>,
  now: number,
  random?: RandomBytes,
): Readonly<{ operation: OperationOf<'rotateKey'>; secret: string }> {
  const { secret, ...stored } = newSecret(random)
  return { secret, operation: { kind: 'rotateKey', keyId, ...stored, oldValidUntil: now + overlapHours * HOUR_MS, endsPromised, now } }
}

/**
 * Extends a key by `days`, counted from now if the key has expired or never expires. `daysLeft`: how many days it can get at most, if it is asked for more; `operation` may then
 * only be found as one that was done before.
 */
export function extension(
  { id, expiresAt }: Readonly<{ id: string; expiresAt: number | null }>,
  days: number,
  now: number,
): OperationOf<'setKeyExpiry'> | Readonly<{ daysLeft: number; operation: OperationOf<'setKeyExpiry'> }> {
  const from = Math.max(expiresAt ?? now, now)
  const latest = now + KEY_EXPIRY_DAYS_MAX * DAY_MS
  const operation = { kind: 'setKeyExpiry', keyId: id, expiresAt: from + days * DAY_MS, now } as const
  return operation.expiresAt > latest ? { daysLeft: Math.max(0, Math.floor((latest - from) / DAY_MS)), operation } : operation
}

/** `field`: the setting that is wrong, and why. `operation`: the change, which may only be found as one that was done before. */
export type RatesProblem = Readonly<{ field: keyof ReturnType<typeof ratesAsSet>; problem: string; operation: OperationOf<'setKeyRates'> }>

/** A key's own rates with these changed; null takes one away. One that is above what every key may have would have no effect, so it is refused. */
export function ratesChange(
  { id, rates }: Readonly<{ id: string; rates?: RateLimits | null }>,
  set: Parameters<typeof ratesWith>[1],
  limits: Pick<Limits, 'requestsPerMinute' | 'concurrentRequests'>,
  now: number,
): OperationOf<'setKeyRates'> | RatesProblem {
  const operation = { kind: 'setKeyRates', keyId: id, rates: ratesWith(rates ?? null, set) ?? null, now } as const
  for (const [field, most] of [
    ['requests_per_minute', limits.requestsPerMinute],
    ['concurrent_requests', limits.concurrentRequests],
  ] as const)
    if ((set[field] ?? 0) > most)
      return { field, problem: `at most ${most}, which is what [limits] ${field} lets every key have`, operation }
  return operation
}

function newSecret(random: RandomBytes = machineRandom): { secret: string; secretHash: Uint8Array; display: string } {
  const secret = makeSecret(random)
  return { secret, secretHash: hashOf(secret), display: displayOf(secret) }
}
