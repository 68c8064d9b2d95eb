/** The response object: in the answer of a whole request and in the first and last events of a stream. Rules: responses.md "Object". */

import { ascii, type ByteString, encodeJson, join } from '../../bytes/byte-string.ts'
import type { Answered, Stamp } from '../../format.ts'
import type { EndStatus } from './status.ts'
import type { ResponseStatus, ResponsesEcho, ResponsesUsage } from './wire.ts'

/** What is known of an answer before its end. */
export type Opening = Readonly<{ id: string; createdSeconds: number; call: Answered<ResponsesEcho> }>

export type Ending = Readonly<{
  status: ResponseStatus
  incompleteReason?: EndStatus['incompleteReason']
  error?: Readonly<{ code: string; message: string }>
  /** Each item as JSON. */
  output: readonly ByteString[]
  usage: ResponsesUsage | null
}>

/** `resp_` + the native message's id; an upstream that gives none leaves the request's. */
export const suffixOf = (nativeId: unknown, stamp: Stamp): string =>
  typeof nativeId === 'string' && nativeId !== '' ? nativeId.replace(/^msg_/, '') : stamp.requestId.replace(/^req_/, '')

const COMMA = ascii`,`

export function responseObject({ id, createdSeconds, call }: Opening, ending: Ending): ByteString {
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
  return ascii`${rest.slice(0, -1)},"output":[${join(ending.output, COMMA)}]}`
}
