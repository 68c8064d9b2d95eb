/**
 * A native `input` to the argument text of the translated formats, with its numbers as the upstream wrote them. What comes here was bounded in depth when it
 * was read. Rules: requests.md "Exact bytes"; translation.md "Calls".
 */

import { decode } from '../../bytes/byte-string.ts'
import { parseExact } from '../../bytes/exact-json.ts'
import { isObject, type JsonObject } from '../../json.ts'
import type { Frame } from '../../native/delta.ts'
import type { NativeMessage } from '../../native/message.ts'
import { readFrame } from '../../sse/read-event.ts'

/** The blocks of a complete message; with exact numbers where there is a tool call, which only `JSON.stringify` may read. */
export function exactContent(message: NativeMessage): readonly JsonObject[] {
  if (!message.content.some(({ type }) => type === 'tool_use')) return message.content
  const json = parseExact(new TextDecoder().decode(message.bytes))
  return isObject(json) && Array.isArray(json['content']) ? json['content'].filter(isObject) : message.content
}

/** The `input` of the block in a `content_block_start` frame, exact as above; `read` is the same input as it was parsed. */
export function exactInput({ text, start, end }: Frame, read: unknown): unknown {
  const event = parseExact(decode(readFrame(text, start, end).data))
  return isObject(event) && isObject(event['content_block']) ? event['content_block']['input'] : read
}

/** True when a block came with its arguments and not only with the `{}` that stands for "deltas follow". */
export const hasInput = (input: unknown): boolean => isObject(input) && Object.keys(input).length > 0

/** A call without arguments is `{}`: clients take an empty text for an error. */
export const argumentsText = (input: unknown): string => (isObject(input) ? JSON.stringify(input) : '{}')

/** The free text of a custom tool's call from its argument text; arguments of another shape are given as they are. */
export function customInput(argumentText: string): string {
  try {
    const input: unknown = JSON.parse(argumentText)
    return isObject(input) && typeof input['input'] === 'string' ? input['input'] : argumentText
  } catch {
    return argumentText
  }
}
