/** A complete native answer. Rules: native.md "Answer". */

import { checkJsonBounds } from '../bytes/json-scan.ts'
import { isObject } from '../json.ts'
import { JSON_SEPARATORS_MAX } from '../limits.ts'
import { billedUsage, isReported, mergeUsage, NOT_REPORTED, type Usage } from '../usage.ts'
import { contentBytesOf, messageIdOf, modelOf, type Observation } from './observation.ts'

export type NativeMessage = Readonly<{
  /** The upstream's bytes. */
  bytes: Uint8Array
  json: Readonly<Record<string, unknown>>
  content: readonly Record<string, unknown>[]
  observation: Observation
}>

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Undefined when the bytes are not a native message: then the upstream is broken. A message whose JSON is deeper or has more values than a client's may is refused alike:
 * messages are rewritten by recursion.
 */
export function readMessage(bytes: Uint8Array): NativeMessage | undefined {
  let json: unknown
  try {
    const text = UTF8.decode(bytes)
    if (typeof checkJsonBounds(text, JSON_SEPARATORS_MAX) === 'string') return undefined
    json = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isObject(json) || json['type'] !== 'message' || !Array.isArray(json['content'])) return undefined
  const content = json['content'].filter(isObject)
  return {
    bytes,
    json,
    content,
    observation: {
      hasStarted: true,
      messageId: messageIdOf(json),
      model: modelOf(json),
      reported: mergeUsage(NOT_REPORTED, json['usage']),
      isOutputFinal: isObject(json['usage']) && typeof json['usage']['output_tokens'] === 'number',
      stopReason: typeof json['stop_reason'] === 'string' ? json['stop_reason'] : undefined,
      stopSequence: typeof json['stop_sequence'] === 'string' ? json['stop_sequence'] : undefined,
      contentBytes: content.reduce((sum, block) => sum + contentBytesOf(block), 0),
    },
  }
}

/**
 * The usage of an answer that cannot be handed on, since its JSON is too deep or has too many values, but that the upstream charges for. Undefined where it has
 * no figures that can be true.
 */
export function usageOfUnusable(bytes: Uint8Array): Usage | undefined {
  try {
    const json: unknown = JSON.parse(UTF8.decode(bytes))
    if (!isObject(json) || json['type'] !== 'message') return undefined
    const reported = mergeUsage(NOT_REPORTED, json['usage'])
    return isReported(reported) && !reported.absurd ? billedUsage(reported) : undefined
  } catch {
    return undefined
  }
}
