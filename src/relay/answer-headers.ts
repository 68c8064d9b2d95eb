/**
 * The headers of answers: every answer has its request's id and the origins whose pages may read it; an answer in one piece also has what it cost and what its key may
 * spend. Keys travel in headers, never in cookies. Rules: requests.md "Request ids", "Browsers", "Cost of an answer".
 */

import type { Call } from '../core/format.ts'
import { availableIn, type KeyBalance } from '../core/key.ts'
import { type Picos, toExactUsdText } from '../core/money.ts'
import { RATE_HEADERS } from '../core/rate-headers.ts'

export function answerHeaders(requestId: string, allowedOrigins: readonly string[], origin: string | null): Record<string, string> {
  const headers = corsHeaders(origin, allowedOrigins)
  headers['x-request-id'] = requestId
  headers['request-id'] = requestId
  return headers
}

/** Adds what an answer cost and what its key may spend now, to the last digit. A key that has left memory meanwhile gets the cost only. */
export function addMoney(headers: Record<string, string>, cost: Picos, keyBalance: KeyBalance | undefined): void {
  headers['x-cost-usd'] = toExactUsdText(cost)
  if (keyBalance !== undefined) addBalance(headers, keyBalance)
}

/** Adds what the key may spend now. */
export function addBalance(headers: Record<string, string>, keyBalance: KeyBalance): void {
  headers['x-balance-usd'] = toExactUsdText(availableIn(keyBalance))
}

/** The cap on the tokens of an answer, where a cap on its cost made that lower than the client asked. */
export const appliedHeaders = ({ maxTokensApplied }: Pick<Call<unknown>, 'maxTokensApplied'>): Record<string, string> =>
  maxTokensApplied === undefined ? {} : { 'x-max-tokens-applied': `${maxTokensApplied}` }

const EXPOSED = [
  'x-request-id, request-id, retry-after, x-should-retry, x-cost-usd, x-balance-usd, x-max-tokens-applied, idempotency-replayed',
  'x-budget-window, x-budget-resets-at',
  ...RATE_HEADERS,
].join(', ')

/** Headers of every answer under `/v1`. `allowed`: origins, or `*` among them for all. */
export function corsHeaders(origin: string | null, allowed: readonly string[]): Record<string, string> {
  if (allowed.includes('*')) return { 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED }
  if (origin === null || !allowed.includes(origin)) return { vary: 'origin' }
  return { 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED, vary: 'origin' }
}
