/**
 * The arguments of a call in a client's history to a native `input`, number by number as they were written: text that is JSON goes into the native body as
 * it is. Rules: requests.md "JSON bounds"; translation.md "Calls".
 */

import { checkJsonBounds } from '../../bytes/json-scan.ts'
import { isGiven, isObject, type JsonObject } from '../../json.ts'
import { JSON_SEPARATORS_MAX } from '../../limits.ts'

/** Arguments as the client has them: an object, or text that nobody has looked at yet. */
export type Arguments = JsonObject | ArgumentText

class ArgumentText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** JSON text of an object, for `nativeJson` to put where its value belongs. */
export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Takes `arguments` in any form; `Conversation.addToolCall` makes the input of them. No arguments are `{}`; a value that is not an object is wrapped. */
export function readArguments(value: unknown): Arguments {
  if (!isGiven(value)) return {}
  if (typeof value === 'string') return value.trim() === '' ? {} : new ArgumentText(value)
  return isObject(value) ? value : { value }
}

/**
 * Makes inputs of one request's arguments. Their JSON stands inside strings, where the body's own bounds do not look, so what is parsed of them is bounded
 * here, for all calls together. A call must never be dropped, or its result loses its partner: JSON that is not an object becomes `{"value":…}`, and
 * text that is no JSON, or too much of it, `{"_raw_arguments":"…"}`.
 */
export class InputMaker {
  #separatorsLeft = JSON_SEPARATORS_MAX

  input(args: Arguments): JsonObject | RawJson {
    if (!(args instanceof ArgumentText)) return args
    const { text } = args
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

export const hasRawInput = (block: JsonObject): boolean => block['input'] instanceof RawJson

/** A block as JSON. Only a call's `input` may be `RawJson`, which is written as its text. */
export function nativeJson(block: JsonObject): string {
  const { type, id, name, input, cache_control: marker } = block
  if (!(input instanceof RawJson)) return JSON.stringify(block)
  const markerJson = marker === undefined ? '' : `,"cache_control":${JSON.stringify(marker)}`
  return `{"type":${JSON.stringify(type)},"id":${JSON.stringify(id)},"name":${JSON.stringify(name)}${markerJson},"input":${input.text}}`
}

const NAME_LENGTH_MAX = 128

/** The name of a call in the history: characters that native refuses become `_`. */
export const cleanToolName = (name: string): string =>
  NAME.test(name) ? name : name.slice(0, NAME_LENGTH_MAX).replace(/[^A-Za-z0-9_-]/g, '_')

const NAME = /^[A-Za-z0-9_-]{1,128}$/
