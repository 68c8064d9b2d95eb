/** The bytes that tell a chat client that its stream has failed, or that it is alive. Rules: chat.md "Errors in a stream"; requests.md "Heartbeats". */

import { ascii, encodeJson, toBytes } from '../../bytes/byte-string.ts'
import type { Refusal } from '../../refusal.ts'
import { errorBody } from '../../refusal-body.ts'

/**
 * The standard error body, in bytes that every known client takes for an error: go-openai looks for `data: {"error":` in the first line, eino and
 * langchain4j for the name of the event, which must not stand before the data. Rules: chat.md "Errors in a stream".
 */
export function errorEnd(refusal: Refusal): Uint8Array {
  const { error, type } = errorBody(refusal)
  return toBytes(ascii`data: ${encodeJson({ error, type })}\nevent: error\n\n`)
}

export const HEARTBEAT = toBytes(ascii`: keep-alive\n\n`)
