/**
 * The arguments of a call, both ways: from a client's history to a native `input`, and from a native `input` to the argument text of the translated formats.
 * Numbers stay as they were written: text that is JSON goes on as it is. Rules: requests.md "JSON bounds", "Exact bytes"; translation.md "Calls".
 */

import { decode } from '../../bytes/byte-string.ts'
import { parseExact } from '../../bytes/exact-json.ts'
import { checkJsonBounds } from '../../bytes/json-scan.ts'
import { isGiven, isObject, type JsonObject } from '../../json.ts'
import { JSON_SEPARATORS_MAX } from '../../limits.ts'
import type { Frame } from '../../native/delta.ts'
import type { NativeMessage } from '../../native/message.ts'
import { readFrame } from '../../sse/read-event.ts'

/** Arguments as the client has them: an object, or unparsed text. */
export type Arguments = JsonObject | ArgumentText

class ArgumentText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** The JSON text of an object. `nativeJson` writes it in the place of the value. */
export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Takes `arguments` in any form; `Conversation.addToolCall` later makes the input from the result. Missing arguments become `{}`; a value that is not an object is wrapped. */
export function readArguments(value: unknown): Arguments {
  if (!isGiven(value)) return {}
  if (typeof value === 'string') return value.trim() === '' ? {} : new ArgumentText(value)
  return isObject(value) ? value : { value }
}

/**
 * Makes the inputs of one request's calls. Arguments are JSON inside strings, which the bounds on the body do not cover, so the amount that is parsed is bounded
 * here, for all calls together. A call must never be dropped, or its result would answer no call: JSON that is not an object becomes `{"value":…}`, and
 * text that is no JSON, or beyond the bound, becomes `{"_raw_arguments":"…"}`.
 */
export class InputMaker {
  #separatorsLeft = JSON_SEPARATORS_MAX

  input(args: Arguments): JsonObject | RawJson {
    if (!(args instanceof ArgumentText)) return args
    const { text } = args
    if (text === NO_ARGUMENTS.text && this.#separatorsLeft > 0) {
      this.#separatorsLeft--
      return NO_ARGUMENTS
    }
    const scanned = checkJsonBounds(text, this.#separatorsLeft)
    if (scanned === 'too-many-separators') this.#separatorsLeft = 0
    if (typeof scanned === 'string') return { _raw_arguments: text }
    this.#separatorsLeft -= scanned.separators
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      return { _raw_arguments: text }
    }
    const json = text.isWellFormed() ? text : JSON.stringify(value)
    return new RawJson(isObject(value) ? json : `{"value":${json}}`)
  }
}

const NO_ARGUMENTS = new RawJson('{}')

export const hasRawInput = (block: JsonObject): boolean => block['input'] instanceof RawJson

/** A block as JSON. Only a call's `input` may be `RawJson`, which is written as its text. */
export function nativeJson(block: JsonObject): string {
  const { type, id, name, input, cache_control: marker } = block
  if (!(input instanceof RawJson)) return JSON.stringify(block)
  return `${JSON.stringify({ type, id, name, cache_control: marker }).slice(0, -1)},"input":${input.text}}`
}

/** The blocks of a complete message. Where there is a tool call, its numbers are exact: raw values that only `JSON.stringify` may read. */
export function exactContent(message: NativeMessage): readonly JsonObject[] {
  if (!message.content.some(({ type }) => type === 'tool_use')) return message.content
  const json = parseExact(new TextDecoder().decode(message.bytes))
  return isObject(json) && Array.isArray(json['content']) ? json['content'].filter(isObject) : message.content
}

/** The `input` of the block in a `content_block_start` frame, with exact numbers as above; `read` is the same input after plain parsing. */
export function exactInput({ text, start, end }: Frame, read: unknown): unknown {
  const event = parseExact(decode(readFrame(text, start, end).data))
  return isObject(event) && isObject(event['content_block']) ? event['content_block']['input'] : read
}

/** True when a block starts with its arguments, and not with the `{}` that means "deltas follow". */
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
