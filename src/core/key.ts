/**
 * Keys: the form of their secret and what is shown of it, what they may still spend, and when they may be used. Rules: contract.md "Keys"; keys.md "Secrets",
 * "Expiry and rotation"; money.md "Holds".
 */

import { isChecked, makeChecked } from './checked-text.ts'
import { minPicos, type Picos, picos } from './money.ts'
import { NO_WINDOWS, usedUpOf, type WindowBalance, type WindowUsed } from './spending.ts'
import type { RateLimits } from './token-buckets.ts'

/** What the gateway knows of a key. It never holds the secret, which is shown once and stored as SHA-256. */
export type KeyRecord = Readonly<{
  id: string
  accountId: string
  name: string
  /** `sk-…last4` */
  display: string
  plan: string
  limitPicos: Picos | null
  /** The key's own rates, beside those of its plan; null or absent: none. */
  rates?: RateLimits | null
  /** Unix milliseconds; null: never. */
  expiresAt: number | null
  isActive: boolean
  isAccountActive: boolean
  /** The ids of end users that requests bring are their tags. */
  tagsUserIds?: boolean
  /** Unix milliseconds at which the secret that was looked up ends after a rotation; null or absent: the secret does not end. */
  secretValidUntil?: number | null
}>

type Available = Readonly<{
  balancePicos: Picos
  limitPicos: Picos | null
  spentPicos: Picos
  windows?: readonly WindowBalance[] | undefined
}>

/** What a key may still spend: the least of the account's balance, limit − spent, and what each window leaves. What running requests hold is not subtracted; the result may be negative. */
export function availableOf({ balancePicos, limitPicos, spentPicos, windows = NO_WINDOWS }: Available): Picos {
  let least = limitPicos === null ? balancePicos : minPicos(balancePicos, picos(limitPicos - spentPicos))
  for (const window of windows) least = minPicos(least, picos(window.capPicos - window.spentPicos))
  return least
}

/** What a key and its account have, and how much of that running requests hold. */
export type KeyBalance<Amount extends bigint = Picos> = Readonly<{
  limitPicos: Amount | null
  spentPicos: Amount
  heldPicos: Amount
  account: Readonly<{ balancePicos: Amount; heldPicos: Amount }>
  /** The windows of its budgets, its account's, and those of its plan; absent: it has no budgets. */
  windows?: readonly WindowBalance<Amount>[]
}>

/** `availableOf` by what a key and its account have. Every request asks, so the fields are named: a spread would copy them all. */
export const availableIn = ({ account, limitPicos, spentPicos, windows }: KeyBalance): Picos =>
  availableOf({ balancePicos: account.balancePicos, limitPicos, spentPicos, windows })

export type Shortage = 'balanceUsed' | 'limitUsed' | WindowUsed | 'balanceHeld' | 'limitHeld' | 'windowHeld'

/**
 * The rule of admission, tested before a request's own hold is added: undefined where something is left beyond what is held. A shortage that time does not
 * mend is told first, then one that a later window mends.
 */
export function shortageOf({ limitPicos, spentPicos, heldPicos, account, windows = NO_WINDOWS }: KeyBalance<bigint>): Shortage | undefined {
  if (account.balancePicos <= 0n) return 'balanceUsed'
  if (limitPicos !== null && limitPicos - spentPicos <= 0n) return 'limitUsed'
  const used = usedUpOf(windows)
  if (used !== undefined) return used
  if (account.balancePicos - account.heldPicos <= 0n) return 'balanceHeld'
  if (limitPicos !== null && limitPicos - spentPicos - heldPicos <= 0n) return 'limitHeld'
  return windows.some((window) => window.capPicos - window.spentPicos - window.heldPicos <= 0n) ? 'windowHeld' : undefined
}

type Spendable = Readonly<{ limitPicos: bigint | null; spentPicos: bigint }>

/** Nothing is left of the balance or of the limit, even before holds are subtracted, so waiting does not help. */
export const isUsedUp = ({ limitPicos, spentPicos }: Spendable, { balancePicos }: Readonly<{ balancePicos: bigint }>): boolean =>
  balancePicos <= 0n || (limitPicos !== null && limitPicos - spentPicos <= 0n)

export const KEY_STATES = ['live', 'disabled', 'expired'] as const
export type KeyState = (typeof KEY_STATES)[number]

/** Disabled is looked at before expired: keys.md "Order of checks". A key expires at the very millisecond of `expiresAt`. */
export function stateOf(key: KeyRecord, now: number): KeyState {
  if (!key.isActive || !key.isAccountActive) return 'disabled'
  if (key.expiresAt !== null && now >= key.expiresAt) return 'expired'
  return 'live'
}

/** Whose form a secret has: ours, or that of a key that was imported: one that counts as it is, or one behind which clients may name a channel. */
export const SECRET_FORMS = ['own', 'exact', 'channel'] as const
type SecretForm = (typeof SECRET_FORMS)[number]
export type ForeignForm = Exclude<SecretForm, 'own'>

const PREFIX = 'sk-'

/** A secret from random bytes: `sk-` + 43 base62 characters, the last 6 a checksum. `randomBytes` must give at least 64 bytes a call. */
export const makeSecret = (randomBytes: () => Uint8Array): string => `${PREFIX}${makeChecked(randomBytes)}`

/** True when the text can be one of our secrets; a typo is found here, before any look-up. */
export const isSecret = (text: string): boolean => text.startsWith(PREFIX) && isChecked(text.slice(PREFIX.length))

export const displayOf = (secret: string): string => `${PREFIX}…${secret.slice(-4)}`
