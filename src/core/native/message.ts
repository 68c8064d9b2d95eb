/** A complete native answer. Rules: native.md "Answer". */

import { checkJsonBounds } from '../bytes/json-scan.ts'
import { isObject, type JsonObject } from '../json.ts'
import { JSON_SEPARATORS_MAX } from '../limits.ts'
import { billedUsage, isReported, mergeUsage, NOT_REPORTED, type Usage } from '../usage.ts'
import { droppedFields, editBody } from './edit-body.ts'
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
 * `addedPrefix`: members of the top level whose names begin so were added by a door, and are left out. Undefined when the bytes are not a native message: then the upstream is broken. A message whose JSON is deeper or has more values than a client's may is refused alike:
 * messages are rewritten by recursion.
 */
export function readMessage(received: Uint8Array, addedPrefix?: string): NativeMessage | undefined {
  let parsed: unknown
  try {
    const text = UTF8.decode(received)
    if (typeof checkJsonBounds(text, JSON_SEPARATORS_MAX) === 'string') return undefined
    parsed = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isObject(parsed) || parsed['type'] !== 'message' || !Array.isArray(parsed['content'])) return undefined
  const { bytes, json } = addedPrefix === undefined ? { bytes: received, json: parsed } : withoutAdded(received, parsed, addedPrefix)
  const content = parsed['content'].filter(isObject)
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

function withoutAdded(bytes: Uint8Array, json: JsonObject, prefix: string): Readonly<{ bytes: Uint8Array; json: JsonObject }> {
  const added = Object.keys(json).filter((name) => name.startsWith(prefix))
  if (added.length === 0) return { bytes, json }
  const kept = Object.entries(json).filter(([name]) => !name.startsWith(prefix))
  return { bytes: editBody(bytes, droppedFields(added), []), json: Object.fromEntries(kept) }
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
