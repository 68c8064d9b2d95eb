/** An event of the native stream, read from a frame and written as one. Rules: native.md "Stream", "Frames", "Dialects". */

import { type ByteString, decode, encodeJson } from '../bytes/byte-string.ts'
import { scanJson } from '../bytes/json-scan.ts'
import { isObject, type JsonObject } from '../json.ts'
import { JSON_DEPTH_MAX } from '../limits.ts'
import type { RawEvent } from '../sse/read-event.ts'
import { writeEvent } from '../sse/write-event.ts'

export type NativeEvent = Readonly<{ type: string; body: Record<string, unknown> }>

/**
 * Which events are accepted from an upstream. vendor: any type, since the vendor may add types later · strict: the format's types only, since other servers' own
 * types are not additions to the format.
 */
export type Dialect = (typeof DIALECTS)[number]
export const DIALECTS = ['vendor', 'strict'] as const

const TYPES: ReadonlySet<string> = new Set([
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
  'ping',
  'error',
])

/** JSON of up to this length cannot be too deep, since each level has two brackets; most events are shorter. */
const SHALLOW_LENGTH_MAX = 2 * JSON_DEPTH_MAX

/**
 * The native event of a frame. `undefined`: nothing to act on (no data, `[DONE]`, a type that the dialect does not have); `'malformed'`: the data is not a
 * JSON object, or is deeper or has more values than a client's may, since an event is rewritten by recursion. `hidesErrorText`: for an upstream whose error texts
 * reach no customer, an event of an unknown type that holds an error counts as an error even in the vendor's dialect.
 */
export function readNativeEvent(raw: RawEvent, dialect: Dialect, hidesErrorText = false): NativeEvent | 'malformed' | undefined {
  if (raw.data.trim() === '' || raw.data.trim() === '[DONE]') return undefined
  if (raw.data.length > SHALLOW_LENGTH_MAX && typeof scanJson(raw.data) === 'string') return 'malformed'
  let body: unknown
  try {
    body = JSON.parse(decode(raw.data))
  } catch {
    return 'malformed'
  }
  if (!isObject(body)) return 'malformed'
  const type = typeOf(decode(raw.event), body, dialect, hidesErrorText)
  return type === undefined ? undefined : { type, body }
}

/** Clients dispatch on the `event:` line: where it names a type of the format, the data's type is ignored. Any other line counts only where the data has no type. */
function typeOf(line: string, body: JsonObject, dialect: Dialect, hidesErrorText: boolean): string | undefined {
  if (TYPES.has(line)) return line
  const said = typeof body['type'] === 'string' ? body['type'] : line
  if (TYPES.has(said)) return said
  if (isError(said, body['error'], dialect === 'strict' || hidesErrorText)) return 'error'
  return dialect === 'vendor' ? said : undefined
}

/** Some servers send an error event without a type, or under a type of their own (`hasOwnNames`). */
function isError(type: string, error: unknown, hasOwnNames: boolean): boolean {
  const hasError = isObject(error) || (typeof error === 'string' && error !== '')
  return type === '' ? hasError : hasOwnNames && (hasError || /error$/i.test(type))
}

/** A native event as bytes: its data names its type, too. */
export const writeNativeEvent = (type: string, fields: Readonly<Record<string, unknown>> = {}): ByteString =>
  writeEvent(type, encodeJson({ type, ...fields }))
