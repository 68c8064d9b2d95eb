/** How a native end reads in the responses format: status, reason, and the code of a failure. Rules: responses.md "Failures"; translation.md "Ends". */

import type { Refusal } from '../../refusal.ts'

export type EndStatus = Readonly<{
  status: 'completed' | 'incomplete'
  incompleteReason: 'max_output_tokens' | 'content_filter' | undefined
}>

/** Status of an answer that ended with this native stop reason; unknown reasons are an ordinary end. */
export function statusOf(stopReason: string | undefined): EndStatus {
  switch (stopReason) {
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return { status: 'incomplete', incompleteReason: 'max_output_tokens' }
    case 'refusal':
      return { status: 'incomplete', incompleteReason: 'content_filter' }
    default:
      return { status: 'completed', incompleteReason: undefined }
  }
}

/** `response.error.code`. What must not be retried gets a code that stops clients; the two that mean more than that have their own. */
export function failureCode(refusal: Refusal): string {
  switch (refusal.row.type) {
    case 'server_error':
      return 'server_error'
    case 'rate_limit_error':
      return 'rate_limit_exceeded'
    case 'insufficient_balance':
      return 'insufficient_quota'
    case 'invalid_request_error':
      return refusal.message.startsWith('prompt is too long') ? 'context_length_exceeded' : 'invalid_prompt'
    case 'authentication_error':
    case 'permission_error':
    case 'not_found_error':
      return 'invalid_prompt'
  }
}
