/** The headers of a binary frame: what kind of message it is. Rules: native.md "Binary frames". */

import { decode, fromBytes } from '../bytes/byte-string.ts'

/** The headers by name; only those with a text value, as all known headers have. Undefined where the bytes are no headers. */
export function readFrameHeaders(bytes: Uint8Array, from: number, to: number): ReadonlyMap<string, string> | undefined {
  const headers = new Map<string, string>()
  for (let at = from; at < to; ) {
    const nameEnd = at + 1 + (bytes[at] ?? 0)
    const type = bytes[nameEnd] ?? -1
    const valueAt = nameEnd + 1 + (hasLength(type) ? 2 : 0)
    const length = hasLength(type) ? ((bytes[nameEnd + 1] ?? 0) << 8) | (bytes[nameEnd + 2] ?? 0) : FIXED_BYTES[type]
    if (length === undefined || valueAt + length > to) return undefined
    if (type === TEXT) headers.set(decode(fromBytes(bytes, at + 1, nameEnd)), decode(fromBytes(bytes, valueAt, valueAt + length)))
    at = valueAt + length
  }
  return headers
}

const BYTES = 6
const TEXT = 7
const hasLength = (type: number): boolean => type === BYTES || type === TEXT

/** The bytes that a value takes, by its type: true, false, numbers of one to eight bytes, a time, a UUID. */
const FIXED_BYTES: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 }
