/** The lists of an account from which its filters are chosen. Rules: pages.md "Tables". */

import { FORMATS, listed, lookedUp } from '../parts/choices.ts'
import { api } from './api.ts'
import { OUTCOME_OPTIONS } from './pages/requests.words.ts'

const OUTCOMES = listed(OUTCOME_OPTIONS)

export const choicesOf = (accountId: string) => {
  const of = api.accounts({ accountId })
  return {
    key: lookedUp((query) => of.choices.get({ query: { of: 'key', ...query } })),
    model: lookedUp((query) => of.choices.get({ query: { of: 'model', ...query } }), true),
    outcome: OUTCOMES,
    format: FORMATS,
  }
}
