/** A refusal on the wire: the standard error body and the headers that go with it. Rules: contract.md "Errors", "Retries"; requests.md "Retry signals". */

import type { Refusal } from './refusal.ts'
import type { WindowUsed } from './spending.ts'
import { isoTime } from './utc.ts'

export type ErrorBody = {
  type: 'error'
  error: { type: string; message: string; code?: string; details?: { error_code?: string; type?: string } }
}

/** The standard error body: the same for every endpoint. */
export function errorBody(refusal: Refusal): ErrorBody {
  const { type, code } = refusal.row
  return { type: 'error', error: { type, message: refusal.message, ...(code === undefined ? {} : { code }) } }
}

/** The error body on messages: the standard one with the detail by which the vendor's SDKs throw typed errors. Rules: messages.md "Error details". */
export const nativeErrorBody = (refusal: Refusal): ErrorBody => withDetails(refusal, codeOf(refusal))

/**
 * The data of an `error` event on messages. Where the request may be sent again, it has the vendor's own type beside ours: the vendor's clients look for that type before
 * they retry a stream that broke. Rules: messages.md "Error events".
 */
export function errorEventBody(refusal: Refusal): ErrorBody {
  const { nativeType } = refusal.row
  return withDetails(refusal, { ...codeOf(refusal), ...(nativeType === undefined ? {} : { type: nativeType }) })
}

type Details = NonNullable<ErrorBody['error']['details']>

const codeOf = ({ errorCode }: Refusal): Details => (errorCode === undefined ? {} : { error_code: errorCode })

function withDetails(refusal: Refusal, details: Details): ErrorBody {
  const { type, error } = errorBody(refusal)
  return { type, error: Object.keys(details).length === 0 ? error : { ...error, details } }
}

const windowHeaders = ({ per, resetsAt }: WindowUsed): Record<string, string> => ({
  'x-budget-window': per,
  'x-budget-resets-at': isoTime(resetsAt),
})

/** Headers of an error answer; the caller adds the request's id. */
export function errorHeaders(refusal: Refusal): Record<string, string> {
  return {
    'content-type': 'application/json',
    ...(refusal.row.isRetryable ? {} : { 'x-should-retry': 'false' }),
    ...(refusal.leavesBody ? { connection: 'close' } : {}),
    ...(refusal.window === undefined ? {} : windowHeaders(refusal.window)),
    ...(refusal.retryAfterSeconds === undefined ? {} : { 'retry-after': String(refusal.retryAfterSeconds) }),
  }
}
