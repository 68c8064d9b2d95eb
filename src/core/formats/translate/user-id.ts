/** The client's name for its own user, as native `metadata.user_id`. Rules: translation.md "User ids". */

import type { Sha256Hex } from '../../format.ts'

const USER_ID_LENGTH_MAX = 256

/** The first string that says something; a longer one than native takes becomes its SHA-256 in hex. */
export function userIdOf(sha256Hex: Sha256Hex, ...candidates: readonly unknown[]): string | undefined {
  const id = candidates.find((candidate) => typeof candidate === 'string' && candidate.trim() !== '')
  if (typeof id !== 'string') return undefined
  return id.length <= USER_ID_LENGTH_MAX ? id : sha256Hex(id)
}
