/** Writes bytes in base64: a large body a little in each turn of the loop, since all of it would hold every stream. Rules: doors.md "Edits"; requests.md "Heavy bodies". */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Pieces } from './door.ts'
import { lengthOf, turnsOf } from './pieces.ts'

/** Up to this size all is written at once. */
const AT_ONCE_BYTES_MAX = 256 * 1024

export function inBase64(pieces: Pieces): Pieces | Promise<Pieces> {
  return lengthOf(pieces) <= AT_ONCE_BYTES_MAX ? [base64(Buffer.concat(pieces))] : inTurns(pieces)
}

async function inTurns(pieces: Pieces): Promise<Pieces> {
  const written: Uint8Array[] = []
  let rest = Buffer.alloc(0)
  for (const turn of turnsOf(pieces)) {
    const bytes = Buffer.concat([rest, turn])
    const whole = bytes.length - (bytes.length % GROUP_BYTES)
    written.push(base64(bytes.subarray(0, whole)))
    rest = bytes.subarray(whole)
    await nextTurn()
  }
  return [...written, base64(rest)]
}

/** So many bytes are four letters; only the end of all may be shorter. */
const GROUP_BYTES = 3

const base64 = (bytes: Buffer): Uint8Array => Buffer.from(bytes.toString('base64'), 'latin1')
