/** A refusal on the wire: the standard error body and the headers that go with it. Rules: contract.md "Errors", "Retries"; requests.md "Retry signals". */

import type { Refusal } from './refusal.ts'

export type ErrorBody = {
  type: 'error'
  error: { type: string; message: string; code?: string; details?: { error_code?: string; type?: string } }
}

/** The standard error body: the same for every endpoint. */
export function errorBody(refusal: Refusal): ErrorBody {
  const { type, code } = refusal.row
  return {
    type: 'error',
    error: {
      type,
      message: refusal.message,
      ...(code === undefined ? {} : { code }),
      ...(refusal.errorCode === undefined ? {} : { details: { error_code: refusal.errorCode } }),
    },
  }
}

/**
 * The data of an `error` event on messages: the standard body, and the vendor's own type beside ours where the request may be sent again. Its clients look
 * for that type before they retry a stream that broke. Rules: messages.md "Error events".
 */
export function nativeErrorBody(refusal: Refusal): ErrorBody {
  const { type, error } = errorBody(refusal)
  const { nativeType } = refusal.row
  return { type, error: { ...error, ...(nativeType === undefined ? {} : { details: { ...error.details, type: nativeType } }) } }
}

/** Headers of an error answer; the request's id is the caller's to add. */
export function errorHeaders(refusal: Refusal): Record<string, string> {
  return {
    'content-type': 'application/json',
    ...(refusal.row.isRetryable ? {} : { 'x-should-retry': 'false' }),
    ...(refusal.leavesBody ? { connection: 'close' } : {}),
    ...(refusal.retryAfterSeconds === undefined ? {} : { 'retry-after': String(refusal.retryAfterSeconds) }),
  }
}
