/**
 * One-time codes that link a chat to an account: ten characters, 50 random bits, in the alphabet of prepaid codes. They are short because people type them, and
 * live ten minutes. Rules: pages.md "Telegram".
 */

import { ALPHABET } from './prepaid-code.ts'

const LENGTH = 10
const CODE = new RegExp(`^[${ALPHABET}]{${LENGTH}}$`)
/** Longer than any code with the spaces and hyphens that a person may leave in it. */
const TYPED_LENGTH_MAX = 40

/** `randomBytes` must give at least ten bytes. */
export function makeLinkCode(randomBytes: () => Uint8Array): string {
  const digits = [...randomBytes().subarray(0, LENGTH)].map((byte) => ALPHABET.charAt(byte & 31))
  if (digits.length < LENGTH) throw new Error('too few random bytes for a code')
  return digits.join('')
}

/** The code as it was made, however it was typed; undefined: the text is no such code. */
export function readLinkCode(typed: string): string | undefined {
  if (typed.length > TYPED_LENGTH_MAX) return undefined
  const plain = typed
    .toUpperCase()
    .replace(/[\s\p{Pd}_.]/gu, '')
    .replaceAll('O', '0')
    .replace(/[IL]/g, '1')
  return CODE.test(plain) ? plain : undefined
}
