/**
 * Estimates how long reading a body takes its thread, from its bytes alone, before any is decoded. It assumes the dearest request with as many separators, from its JSON
 * to the native call, in the format that takes longest. Rules: requests.md "Heavy bodies".
 */

/** Nanoseconds for a byte, for a member or element that a separator begins, for an escape, and for a byte that is not ASCII (`bun run bench bodies` measures them). */
const BYTE_NANOS = 2
const SEPARATOR_NANOS = 300
const ESCAPE_NANOS = 20
const WIDE_NANOS = 5

/** The cost of each byte value. Separators inside strings count, too: the arguments of a tool are JSON in a string, and are read as JSON. */
const NANOS = new Uint16Array(256).fill(BYTE_NANOS, 0, 0x80).fill(WIDE_NANOS, 0x80)
for (const separator of ',:[{') NANOS[separator.charCodeAt(0)] = SEPARATOR_NANOS
NANOS['\\'.charCodeAt(0)] = ESCAPE_NANOS

/** The longest reading that running streams may wait for. */
const LIGHT_NANOS = 1_000_000
/** A body of so few bytes never takes that long, whatever it holds. */
export const LIGHT_BYTES = 8 * 1024
/** After each block the sum is compared with the limit, so that the rest of a heavy body is not added up. */
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
