/**
 * What reading a body costs the thread that does it, told from its bytes before any of it is decoded: the dearest request of so many separators, from its JSON
 * to the native call in whatever format makes most of it. Rules: requests.md "Heavy bodies".
 */

/** Nanoseconds of a byte, of a member or an element that a separator begins, and of an escape (`bun run bench bodies` measures them). */
const BYTE_NANOS = 2
const SEPARATOR_NANOS = 300
const ESCAPE_NANOS = 20
const WIDE_NANOS = 5

/** Of each byte. Separators count in strings, too: the arguments of a tool are JSON in a string, and are read as JSON. */
const NANOS = new Uint16Array(256).fill(BYTE_NANOS, 0, 0x80).fill(WIDE_NANOS, 0x80)
for (const separator of ',:[{') NANOS[separator.charCodeAt(0)] = SEPARATOR_NANOS
NANOS['\\'.charCodeAt(0)] = ESCAPE_NANOS

/** What streams may wait for. */
const LIGHT_NANOS = 1_000_000
/** Nothing in so few bytes takes that long, whatever stands there. */
export const LIGHT_BYTES = 8 * 1024
/** So often it is looked whether the rest matters. */
const BLOCK_BYTES = 16 * 1024

/** Whether a body is read in about a millisecond. */
export function isLight(bytes: Uint8Array): boolean {
  if (bytes.byteLength <= LIGHT_BYTES) return true
  if (bytes.byteLength * BYTE_NANOS > LIGHT_NANOS) return false
  let nanos = 0
  for (let from = 0; from < bytes.byteLength && nanos <= LIGHT_NANOS; from += BLOCK_BYTES) nanos += nanosOf(bytes, from, from + BLOCK_BYTES)
  return nanos <= LIGHT_NANOS
}

function nanosOf(bytes: Uint8Array, from: number, to: number): number {
  const end = Math.min(to, bytes.byteLength)
  let nanos = 0
  for (let at = from; at < end; at++) nanos += NANOS[bytes[at] ?? 0] ?? 0
  return nanos
}
