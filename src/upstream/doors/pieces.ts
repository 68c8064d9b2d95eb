/** A body in pieces. Rules: requests.md "Heavy bodies". */

import type { Pieces } from './door.ts'

export const lengthOf = (pieces: Pieces): number => pieces.reduce((sum, { byteLength }) => sum + byteLength, 0)

/** What hashing or encoding takes well below a millisecond for. */
const TURN_BYTES = 256 * 1024

/** The bytes in order, as much at a time as a turn of the loop may take. */
export function* turnsOf(pieces: Pieces): Generator<Uint8Array> {
  for (const piece of pieces) for (let at = 0; at < piece.byteLength; at += TURN_BYTES) yield piece.subarray(at, at + TURN_BYTES)
}
