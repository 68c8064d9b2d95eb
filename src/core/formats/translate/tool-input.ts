/** A native `input` to the argument text of the translated formats, with its numbers as the upstream wrote them. Source: wire.md §4.1, §4.4, §5.3. */

import { decode } from '../../byte-string.ts'
import { parseExact } from '../../exact-json.ts'
import { isObject, type JsonObject } from '../../json.ts'
import type { NativeMessage } from '../../native/message.ts'
import type { Frame } from '../../native/reader.ts'
import { readFrame } from '../../sse/read-event.ts'

/** The blocks of a complete message; with exact numbers where there is a tool call, which only `JSON.stringify` may read. */
export function exactContent(message: NativeMessage): readonly JsonObject[] {
  if (!message.content.some(({ type }) => type === 'tool_use')) return message.content
  const json = tryParseExact(new TextDecoder().decode(message.bytes))
  return isObject(json) && Array.isArray(json['content']) ? json['content'].filter(isObject) : message.content
}

/** The `input` of the block in a `content_block_start` frame, exact as above; `read` is the same input as it was parsed. */
export function exactInput({ text, start, end }: Frame, read: unknown): unknown {
  const event = tryParseExact(decode(readFrame(text, start, end).data))
  return isObject(event) && isObject(event['content_block']) ? event['content_block']['input'] : read
}

/** Undefined for JSON nested so deeply (thousands of levels) that exact parsing runs out of stack. */
function tryParseExact(text: string): unknown {
  try {
    return parseExact(text)
  } catch {
    return undefined
  }
}

/** True when a block came with its arguments and not only with the `{}` that stands for "deltas follow". */
export const hasInput = (input: unknown): boolean => isObject(input) && Object.keys(input).length > 0

/** A call without arguments is `{}`: clients take an empty text for an error. So is one nested too deeply to be written. */
export function argumentsText(input: unknown): string {
  if (!isObject(input)) return '{}'
  try {
    return JSON.stringify(input)
  } catch {
    return '{}'
  }
}

/** The free text of a custom tool's call from its argument text; arguments of another shape are given as they are. */
export function customInput(argumentText: string): string {
  try {
    const input: unknown = JSON.parse(argumentText)
    return isObject(input) && typeof input['input'] === 'string' ? input['input'] : argumentText
  } catch {
    return argumentText
  }
}
