/** The headers that every answer carries, and a refusal as an answer. Rules: contract.md "Errors"; requests.md "Request ids", "Retry signals". */

import { corsHeaders } from '../core/cors.ts'
import type { Refusal } from '../core/refusal.ts'
import { errorBody, errorHeaders } from '../core/refusal-body.ts'

export const answerHeaders = (requestId: string, allowedOrigins: readonly string[], origin: string | null): Record<string, string> => ({
  'x-request-id': requestId,
  'request-id': requestId,
  ...corsHeaders(origin, allowedOrigins),
})

export const refuse = (refusal: Refusal, requestId: string, allowedOrigins: readonly string[], origin: string | null): Response =>
  new Response(JSON.stringify(errorBody(refusal)), {
    status: refusal.row.status,
    headers: { ...errorHeaders(refusal), 'cache-control': 'no-store', ...answerHeaders(requestId, allowedOrigins, origin) },
  })
