/** Reads the first event of a chat stream: when it is an error, the call has failed. Rules: openai.md "Chunks"; pool.md "Failover". */

import { decode } from '../../../bytes/byte-string.ts'
import { isObject } from '../../../json.ts'
import type { NativeError } from '../../../native/error.ts'
import type { RawEvent } from '../../../sse/read-event.ts'
import { choiceOf, errorOf } from './chunk.ts'

/** `nothing`: a frame that has neither an error nor a part of an answer. `model`: the model that the answer names. */
export function firstChunk({ data }: RawEvent): 'nothing' | 'malformed' | Readonly<{ error: NativeError } | { model: unknown }> {
  const text = data.trim()
  if (text === '') return 'nothing'
  if (text === '[DONE]') return 'malformed'
  let chunk: unknown
  try {
    chunk = JSON.parse(decode(text))
  } catch {
    return 'malformed'
  }
  if (!isObject(chunk)) return 'malformed'
  const choice = choiceOf(chunk)
  const error = errorOf(chunk, choice)
  if (error !== undefined) return { error }
  return choice === undefined && !isObject(chunk['usage']) ? 'nothing' : { model: chunk['model'] }
}
