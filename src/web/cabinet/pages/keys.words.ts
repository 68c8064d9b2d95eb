/** The words of the page of keys. */

import type { Mood } from '../../parts/badge.tsx'

export const WORDS = {
  title: 'Keys',
  lede: 'A key pays out of this account’s balance, within its own limit.',
  make: 'New key',
  none: 'No keys yet.',
  noneLede: 'A key is what clients send with each request. Make one, and paste its lines into your client.',
  noneReader: 'An owner of this account can make one.',
  nameHint: 'Where it will be used, such as “laptop” or “build server”',
  limitHint: 'In USD; empty for none. It can be changed at any time.',
  budgetHint: 'In USD for each such window; empty for none of your own. It may be less than the operator’s, not more.',
  budgets: 'Budgets…',
  accountBudgets: 'Budgets of all keys together',
  once: 'Copy it now: it is shown this once. Only its hash is kept.',
  lines: 'Paste these lines into a terminal or a file. The first sets the key for those that follow.',
  rotate: 'The key stays the same one, with its limit and history; clients need the new secret.',
  cut: 'Requests with the old secret are refused at once.',
  disable:
    'Its requests are refused, and its running streams end within a second. What was written until then is paid. It can be enabled again.',
  accountOff: 'This account is disabled, and its keys are refused: ask the operator of this gateway.',
  ownRates: (rates: string) => `This key: ${rates}`,
  planRates: (rates: string) => `All keys of its plan together: ${rates}`,
} as const

export type KeyLook = Readonly<{ state: 'live' | 'disabled' | 'expired'; is_limit_used: boolean; expires_at: string | null }>

const SOON_MS = 7 * 86_400_000

/** The state of a key that matters most, as a mood and a word. */
export function stateWords({ state, is_limit_used, expires_at }: KeyLook, nowMs: number): readonly [Mood, string] {
  if (state === 'disabled') return ['quiet', 'disabled']
  if (state === 'expired') return ['bad', 'expired']
  if (is_limit_used) return ['bad', 'limit used']
  return expires_at !== null && Date.parse(expires_at) - nowMs < SOON_MS ? ['wary', 'expires soon'] : ['good', 'active']
}

export const DAYS = [7, 30, 60, 90].map((days) => ({ value: String(days), text: `${days} days` }))
export const NEVER = { value: '', text: 'Never' }
export const OVERLAPS = [
  { value: '0', text: 'Ends at once' },
  { value: '1', text: 'Is valid for 1 hour more' },
  { value: '24', text: 'Is valid for 1 day more' },
  { value: '168', text: 'Is valid for 7 days more' },
]
