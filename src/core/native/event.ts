/** An event of the native stream, read from a frame and written as one. Rules: native.md "Stream", "Frames". */

import { type ByteString, decode, encodeJson } from '../bytes/byte-string.ts'
import { scanJson } from '../bytes/json-scan.ts'
import { JSON_DEPTH_MAX } from '../limits.ts'
import type { RawEvent } from '../sse/read-event.ts'
import { writeEvent } from '../sse/write-event.ts'

export type NativeEvent = Readonly<{ type: string; body: Record<string, unknown> }>

/** Too short to be too deep, as most events are: each level opens and closes. */
const SHALLOW_LENGTH_MAX = 2 * JSON_DEPTH_MAX

/**
 * The native event of a frame: its JSON with the `type` it names, else the type of its `event:` line. `undefined`: nothing to act on (no data, `[DONE]`);
 * `'malformed'`: data that is not a JSON object, or one deeper or busier than a client's may be: what is made of an event is written by recursion.
 */
export function readNativeEvent(raw: RawEvent): NativeEvent | 'malformed' | undefined {
  if (raw.data.trim() === '' || raw.data.trim() === '[DONE]') return undefined
  if (raw.data.length > SHALLOW_LENGTH_MAX && typeof scanJson(raw.data) === 'string') return 'malformed'
  let body: unknown
  try {
    body = JSON.parse(decode(raw.data))
  } catch {
    return 'malformed'
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return 'malformed'
  const fields = body as Record<string, unknown>
  return { type: typeof fields['type'] === 'string' ? fields['type'] : decode(raw.event), body: fields }
}

/** A native event: its data names its type too. */
export const writeNativeEvent = (type: string, fields: Readonly<Record<string, unknown>> = {}): ByteString =>
  writeEvent(type, encodeJson({ type, ...fields }))
