/** A frame's lines to its event: the fields `event` and `data`. Rules: native.md "Frames". */

import { type ByteString, decode, EMPTY } from '../bytes/byte-string.ts'
import { scanJson } from '../bytes/json-scan.ts'
import { JSON_DEPTH_MAX } from '../limits.ts'

export type RawEvent = Readonly<{ event: ByteString; data: ByteString; hasEventLine: boolean }>

/** Comments, `id`, `retry` and unknown fields are ignored; several data lines join with LF. A frame without data has `data` ''. */
export function readFrame(text: ByteString, start: number, end: number): RawEvent {
  let event = EMPTY
  let data: string | undefined
  let hasEventLine = false
  for (const line of text.slice(start, end).split(LINE_END)) {
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(line.charCodeAt(colon + 1) === 32 ? colon + 2 : colon + 1)
    if (field === 'data') data = data === undefined ? value : `${data}\n${value}`
    else if (field === 'event') {
      event = value as ByteString
      hasEventLine = true
    }
  }
  return { event, data: (data ?? '') as ByteString, hasEventLine }
}

const LINE_END = /\r\n|\n|\r/

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
