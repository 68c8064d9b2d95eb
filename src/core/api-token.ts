/** Tokens of the operator's API: the form of their secret, what each may do, and when. Rules: operator-api.md "Tokens", "Scopes". */

import { isChecked, makeChecked } from './checked-text.ts'
import { DAY_MS } from './utc.ts'

/** read: looks · keys: also makes and changes accounts and keys · money: looks, and credits accounts · all: everything. */
export const TOKEN_SCOPES = ['read', 'keys', 'money', 'all'] as const
export type TokenScope = (typeof TOKEN_SCOPES)[number]

/** What the gateway knows of a token. It never holds the secret, which is shown once and stored as SHA-256. */
export type TokenRecord = Readonly<{
  id: string
  /** No other token has it, nor ever had it. */
  name: string
  scope: TokenScope
  /** The accounts to which the token is bound; empty: it sees all. */
  accountIds: readonly string[]
  /** Unix milliseconds. */
  expiresAt: number
  revokedAt: number | null
  lastUsedAt: number | null
}>

export const TOKEN_DAYS_DEFAULT = 90
export const TOKEN_DAYS_MAX = 366
export const TOKEN_ACCOUNTS_MAX = 20

const PREFIX = 'tgop_'

/** A secret from random bytes: `tgop_` + 43 base62 characters, the last 6 a checksum. `randomBytes` must give at least 64 bytes a call. */
export const makeToken = (randomBytes: () => Uint8Array): string => `${PREFIX}${makeChecked(randomBytes)}`

/** True when the text can be one of our tokens; a typo is found here, before any look-up. */
export const isToken = (text: string): boolean => text.startsWith(PREFIX) && isChecked(text.slice(PREFIX.length))

export const tokenDisplayOf = (token: string): string => `${PREFIX}…${token.slice(-4)}`

export type TokenState = 'live' | 'expired' | 'revoked'

export function tokenStateOf({ expiresAt, revokedAt }: Pick<TokenRecord, 'expiresAt' | 'revokedAt'>, now: number): TokenState {
  if (revokedAt !== null) return 'revoked'
  return now >= expiresAt ? 'expired' : 'live'
}

/** What is wrong with the end of a new token, in words; undefined: nothing. */
export const problemOfTokenEnd = (expiresAt: number, now: number): string | undefined =>
  expiresAt > now && expiresAt <= now + TOKEN_DAYS_MAX * DAY_MS ? undefined : `a token lives 1 to ${TOKEN_DAYS_MAX} days`

/** Accounts as the row has them, and back. */
export const accountIdsText = (accountIds: readonly string[]): string => accountIds.join(' ')
export const accountIdsOf = (text: string): readonly string[] => (text === '' ? [] : text.split(' '))
