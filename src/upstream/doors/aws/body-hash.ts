/**
 * The SHA-256 of a body that is signed, as lower hex. None holds the loop: a small one is hashed at once, one of up to a MiB on a thread of the engine's, a larger one a
 * little in each turn. Rules: doors.md "Signatures".
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Pieces } from '../door.ts'
import { lengthOf, turnsOf } from '../pieces.ts'

/** A larger body is hashed elsewhere: a megabyte would hold the loop for most of a millisecond. */
const AT_ONCE_BYTES_MAX = 64 * 1024
/** The engine copies a body for its thread, here and at once: of 21 MiB that takes 15 to 35 ms, as long as hashing takes. */
const COPIED_BYTES_MAX = 1024 * 1024

export function bodyHash(body: Pieces): string | Promise<string> {
  const length = lengthOf(body)
  if (length > COPIED_BYTES_MAX) return inTurns(body)
  return length > AT_ONCE_BYTES_MAX ? elsewhere(body) : hashAtOnce(body)
}

function hashAtOnce(body: Pieces): string {
  const hasher = new Bun.CryptoHasher('sha256')
  for (const piece of body) hasher.update(piece)
  return hasher.digest('hex')
}

async function elsewhere([first = new Uint8Array(), ...more]: Pieces): Promise<string> {
  const whole = more.length === 0 ? first : Buffer.concat([first, ...more])
  return new Uint8Array(await crypto.subtle.digest('SHA-256', whole as Uint8Array<ArrayBuffer>)).toHex()
}

async function inTurns(body: Pieces): Promise<string> {
  const hasher = new Bun.CryptoHasher('sha256')
  for (const turn of turnsOf(body)) {
    hasher.update(turn)
    await nextTurn()
  }
  return hasher.digest('hex')
}
