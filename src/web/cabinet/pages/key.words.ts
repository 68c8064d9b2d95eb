/** The words of the page of one key. */

export const KEY_WORDS = {
  title: 'Look up a key',
  lede: 'Paste a key to see its balance and what it was used for. No account is needed.',
  label: 'API key',
  hint: 'It begins with sk-. It is sent to this gateway only, and kept nowhere.',
  remember: 'Remember it in this tab until the tab is closed',
  look: 'Look up',
  forget: 'Forget this key',
  refresh: 'Refresh',
  noDays: 'This key was not used in the last 30 days.',
  noRequests: 'This key has made no request yet.',
  disabled: 'This key is disabled, or its account is: ask who issued it. Its requests are not shown.',
  admitted: 'A request would be let in now.',
} as const

/** Whose a budget is. */
export const BUDGET_OF_WORDS = { key: 'of this key', account: 'of the whole account', plan: 'of all keys of its plan' } as const

/** A failure in words for people, where the API's words are for programs. `retryAfterS`: how long to wait. */
export function failureWords(status: number, message: string, retryAfterS: number | undefined): string {
  switch (status) {
    case 401:
      return message === 'API key is disabled'
        ? 'This key is disabled, or its account is. Ask who issued it.'
        : 'This gateway does not know this key. Check that it was copied whole, from sk- to its last character.'
    case 403:
      return 'This key has expired. Its owner can extend it.'
    case 429:
      return `Too many look-ups from your address. Try again in ${retryAfterS ?? 60} s.`
    default:
      return message
  }
}

export const REFUSED_WORDS = {
  balance_used: 'A request would be refused now: the account’s balance is used up. Top it up.',
  limit_used: 'A request would be refused now: the key’s spend limit is used up. Its owner can raise it.',
  window_used: 'A request would be refused now: a budget of this hour, day, week or month is used up.',
  window_held: 'A request would have to wait now: what is left of a budget is reserved for running requests.',
  balance_held: 'A request would have to wait now: what is left of the balance is reserved for running requests.',
  limit_held: 'A request would have to wait now: what is left of the limit is reserved for running requests.',
  too_many_requests: 'A request would have to wait now: too many came within a minute.',
  too_many_running: 'A request would have to wait now: too many run at once.',
  unavailable: 'A request would be refused now: the gateway takes none at this moment.',
} as const
