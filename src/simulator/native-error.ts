/** Errors as a native upstream words and shapes them. Rules: native.md "Errors". */

/** Why a request is refused, in the simulator's words. */
export class Problem {
  readonly status: number
  readonly message: string

  constructor(status: number, message: string) {
    this.status = status
    this.message = message
  }
}

const KINDS: Readonly<Record<number, { type: string; cause: string }>> = {
  400: { type: 'invalid_request_error', cause: 'invalid request' },
  401: { type: 'authentication_error', cause: 'invalid credentials' },
  402: { type: 'billing_error', cause: 'unpaid' },
  403: { type: 'permission_error', cause: 'not permitted' },
  404: { type: 'not_found_error', cause: 'not found' },
  405: { type: 'invalid_request_error', cause: 'method not allowed' },
  408: { type: 'timeout_error', cause: 'request timed out' },
  409: { type: 'conflict_error', cause: 'conflict' },
  413: { type: 'request_too_large', cause: 'request too large' },
  429: { type: 'rate_limit_error', cause: 'rate limited' },
  500: { type: 'api_error', cause: 'internal error' },
  504: { type: 'timeout_error', cause: 'timed out' },
  529: { type: 'overloaded_error', cause: 'overloaded' },
}

const RETRY_AFTER_SECONDS: Readonly<Record<number, number>> = { 429: 1, 529: 1 }

/** The body of an error answer, and the data of an `error` event. */
export function errorBody(status: number, message: string | undefined, requestId: string): Record<string, unknown> {
  const { type, cause } = KINDS[status] ?? { type: status < 500 ? 'invalid_request_error' : 'api_error', cause: `status ${status}` }
  return { type: 'error', error: { type, message: message ?? `Tollgate simulator: ${cause}, as the prompt asked` }, request_id: requestId }
}

export function errorResponse(status: number, message: string | undefined, requestId: string, retryAfterSeconds?: number): Response {
  const retryAfter = retryAfterSeconds ?? RETRY_AFTER_SECONDS[status]
  const headers = { 'request-id': requestId, ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }) }
  return Response.json(errorBody(status, message, requestId), { status, headers })
}
