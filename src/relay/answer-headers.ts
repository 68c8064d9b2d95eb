/**
 * The headers that every answer carries: its id, and who may read it from a browser. Keys travel in headers, never in cookies.
 * Rules: requests.md "Request ids", "Browsers".
 */

export const answerHeaders = (requestId: string, allowedOrigins: readonly string[], origin: string | null): Record<string, string> => ({
  'x-request-id': requestId,
  'request-id': requestId,
  ...corsHeaders(origin, allowedOrigins),
})

const EXPOSED = 'x-request-id, request-id, retry-after, x-should-retry'

/** Headers of every answer under `/v1`. `allowed`: origins, or `*` among them for all. */
export function corsHeaders(origin: string | null, allowed: readonly string[]): Record<string, string> {
  if (allowed.includes('*')) return { 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED }
  if (origin === null || !allowed.includes(origin)) return { vary: 'origin' }
  return { 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED, vary: 'origin' }
}
