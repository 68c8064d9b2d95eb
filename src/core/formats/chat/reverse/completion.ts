/** Reads the bytes of a whole answer from a server that speaks chat, and makes the equivalent native message. Rules: openai.md "Blocks", "Usage"; native.md "Answer". */

import { utf8Bytes } from '../../../bytes/byte-string.ts'
import { checkJsonBounds } from '../../../bytes/json-scan.ts'
import { isObject, type JsonObject } from '../../../json.ts'
import { JSON_SEPARATORS_MAX } from '../../../limits.ts'
import type { NativeError } from '../../../native/error.ts'
import { type NativeMessage, readMessage } from '../../../native/message.ts'
import { type NativeMessageOptions, nativeMessage } from './native-message.ts'

export type Completion = Readonly<{ text: string; json: JsonObject }>

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** Undefined when the bytes are no JSON object, or one that is deeper or has more values than a client's may. */
export function readCompletion(bytes: Uint8Array): Completion | undefined {
  try {
    const text = UTF8.decode(bytes)
    if (typeof checkJsonBounds(text, JSON_SEPARATORS_MAX) === 'string') return undefined
    const json: unknown = JSON.parse(text)
    return isObject(json) ? { text, json } : undefined
  } catch {
    return undefined
  }
}

/** The native message, or the error that stands in the place of an answer; undefined where the JSON is neither. */
export function messageOf(
  { json }: Completion,
  options: NativeMessageOptions,
): NativeMessage | Readonly<{ error: NativeError }> | undefined {
  const made = nativeMessage(json, options)
  if (made === undefined) return undefined
  return typeof made === 'string' ? readMessage(utf8Bytes(made)) : { error: made }
}
