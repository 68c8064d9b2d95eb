/**
 * The headers that every answer carries: its id, and who may read it from a browser; and what an answer in one piece says of its money. Keys travel in
 * headers, never in cookies. Rules: requests.md "Request ids", "Browsers", "Cost of an answer".
 */

import { availableOf, type Purse } from '../core/key.ts'
import { type Picos, toExactUsdText } from '../core/money.ts'

export const answerHeaders = (requestId: string, allowedOrigins: readonly string[], origin: string | null): Record<string, string> => ({
  'x-request-id': requestId,
  'request-id': requestId,
  ...corsHeaders(origin, allowedOrigins),
})

/** What an answer cost and what its key may spend now, to the last digit. A key that had to leave the memory meanwhile is told its cost alone. */
export const moneyHeaders = (cost: Picos, purse: Purse | undefined): Record<string, string> => ({
  'x-cost-usd': toExactUsdText(cost),
  ...(purse === undefined ? {} : { 'x-balance-usd': toExactUsdText(availableOf({ ...purse, balancePicos: purse.account.balancePicos })) }),
})

const EXPOSED = 'x-request-id, request-id, retry-after, x-should-retry, x-cost-usd, x-balance-usd, idempotency-replayed'

/** Headers of every answer under `/v1`. `allowed`: origins, or `*` among them for all. */
export function corsHeaders(origin: string | null, allowed: readonly string[]): Record<string, string> {
  if (allowed.includes('*')) return { 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED }
  if (origin === null || !allowed.includes(origin)) return { vary: 'origin' }
  return { 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED, vary: 'origin' }
}
