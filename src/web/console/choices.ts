/** The lists from which the console's filters are chosen. Rules: pages.md "Tables". */

import { type Choices, listed, lookedUp } from '../parts/choices.ts'
import { OUTCOME_WORDS } from '../parts/request-words.ts'
import { api } from './api.ts'

const found = (of: 'account' | 'key' | 'model' | 'upstream' | 'actor' | 'target', isFree = false): Choices =>
  lookedUp((query) => api.choices.get({ query: { of, ...query } }), isFree)

export const ACCOUNTS = found('account')
export const KEYS = found('key')
export const MODELS = found('model', true)
export const UPSTREAMS = found('upstream', true)
/** In the audit log; a process of the machine, or what has no page of its own, can be chosen as it is typed. */
export const ACTORS = found('actor', true)
export const TARGETS = found('target', true)
export const OUTCOMES = listed(
  Object.entries(OUTCOME_WORDS).map(([value, [, text]]) => ({ value, text: value === 'recovered' ? `${text} (recovered)` : text })),
)
