/** A complete native answer. Rules: native.md "Answer". */

import { join, toBytes } from '../bytes/byte-string.ts'
import { parseExact } from '../bytes/exact-json.ts'
import { checkJsonBounds } from '../bytes/json-scan.ts'
import { isObject } from '../json.ts'
import { JSON_SEPARATORS_MAX } from '../limits.ts'
import { billedUsage, isReported, mergeUsage, NOT_REPORTED, type Usage } from '../usage.ts'
import { writeNativeEvent } from './event.ts'
import { contentBytesOf, messageIdOf, type Observation } from './observation.ts'

export type NativeMessage = Readonly<{
  /** The upstream's bytes. */
  bytes: Uint8Array
  json: Readonly<Record<string, unknown>>
  content: readonly Record<string, unknown>[]
  observation: Observation
}>

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Undefined when the bytes are not a native message: then the upstream is broken. So is one whose JSON is deeper or busier than a client's may be: what is
 * made of a message is written by recursion.
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
      reported: mergeUsage(NOT_REPORTED, json['usage']),
      isOutputFinal: isObject(json['usage']) && typeof json['usage']['output_tokens'] === 'number',
      stopReason: typeof json['stop_reason'] === 'string' ? json['stop_reason'] : undefined,
      stopSequence: typeof json['stop_sequence'] === 'string' ? json['stop_sequence'] : undefined,
      contentBytes: content.reduce((sum, block) => sum + contentBytesOf(block), 0),
    },
  }
}

/**
 * What an answer that cannot be handed on costs all the same: the usage of a message whose JSON is deeper or busier than we take. Undefined where it says
 * nothing that can be believed.
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

/** The native stream that a complete message would have been, for an upstream that answers a stream request with JSON. */
export function streamOfMessage(message: NativeMessage): Uint8Array {
  const { content, stop_reason, stop_sequence, ...head } = parseExact(new TextDecoder().decode(message.bytes)) as Record<string, unknown>
  const blocks = (content as readonly unknown[]).filter(isObject)
  const frames = [
    writeNativeEvent('message_start', { message: { ...head, content: [], stop_reason: null, stop_sequence: null } }),
    ...blocks.flatMap((block, index) => [
      writeNativeEvent('content_block_start', { index, content_block: block }),
      writeNativeEvent('content_block_stop', { index }),
    ]),
    writeNativeEvent('message_delta', {
      delta: { stop_reason: stop_reason ?? null, stop_sequence: stop_sequence ?? null },
      usage: head['usage'],
    }),
    writeNativeEvent('message_stop'),
  ]
  return toBytes(join(frames))
}
