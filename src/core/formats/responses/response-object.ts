/**
 * The response object: in the answer of a whole request and in the first and last events of a stream, and how a native end is told in it.
 * Rules: responses.md "Object", "Failures"; translation.md "Ends".
 */

import { encodeJson } from '../../bytes/byte-string.ts'
import type { Answered, Stamp } from '../../format.ts'
import type { Refusal } from '../../refusal.ts'
import type { OutputItem } from './output-items.ts'
import { listed, type Pieces, pieces } from './pieces.ts'
import type { ResponseStatus, ResponsesEcho, ResponsesUsage } from './wire.ts'

/** What is known of an answer before its end. */
export type Opening = Readonly<{ id: string; createdSeconds: number; call: Answered<ResponsesEcho> }>

export type Ending = Readonly<{
  status: ResponseStatus
  incompleteReason?: EndStatus['incompleteReason']
  error?: Readonly<{ code: string; message: string }>
  output: readonly OutputItem[]
  usage: ResponsesUsage | null
}>

/** `resp_` + the native message's id; the request's id where the upstream gives none. */
export const suffixOf = (nativeId: unknown, stamp: Stamp): string =>
  typeof nativeId === 'string' && nativeId !== '' ? nativeId.replace(/^msg_/, '') : stamp.requestId.replace(/^req_/, '')

export function responseObject({ id, createdSeconds, call }: Opening, ending: Ending): Pieces {
  const { fields } = call.echo
  const { incompleteReason } = ending
  const rest = encodeJson({
    id,
    object: 'response',
    created_at: createdSeconds,
    status: ending.status,
    background: false,
    completed_at: null,
    error: ending.error ?? null,
    incomplete_details: incompleteReason === undefined ? null : { reason: incompleteReason },
    instructions: null,
    max_tool_calls: null,
    model: call.model.id,
    ...fields,
    access_programs: null,
    frequency_penalty: 0,
    presence_penalty: 0,
    service_tier: 'default',
    store: false,
    tools: [],
    top_logprobs: 0,
    truncation: 'disabled',
    usage: ending.usage,
  })
  return pieces`${rest.slice(0, -1)},"output":[${listed(ending.output.map(({ json }) => json))}]}`
}

export type EndStatus = Readonly<{
  status: 'completed' | 'incomplete'
  incompleteReason: 'max_output_tokens' | 'content_filter' | undefined
}>

/** The status of an answer that ended with this native stop reason; an unknown reason counts as an ordinary end. */
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

/** `response.error.code`. A refusal that must not be retried gets a code that stops clients from retrying; two such refusals have a more precise code. */
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
