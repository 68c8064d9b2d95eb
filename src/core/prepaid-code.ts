/**
 * Prepaid codes: their form, their checksum, and how a typed code is read. Rules: pages.md "Codes"; the alphabet is Crockford's
 * (https://www.crockford.com/base32.html), which has no letter that looks like a digit.
 */

export const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const PREFIX = 'TG'
/** 120 random bits. */
const RANDOM_LENGTH = 24
const LENGTH = RANDOM_LENGTH + 1
const GROUP_LENGTH = 5
const CODE = new RegExp(`^(?:${PREFIX})?([${ALPHABET}]{${LENGTH}})$`)
/** Longer than any code with all the spaces and line breaks that a person may leave in it. */
const TYPED_LENGTH_MAX = 200

/** `TG-` and five groups of five: 24 characters of five random bits each, and the checksum. `randomBytes` must give at least 24 bytes. */
export function makeCode(randomBytes: () => Uint8Array): string {
  const digits = [...randomBytes().subarray(0, RANDOM_LENGTH)].map((byte) => byte & 31)
  if (digits.length < RANDOM_LENGTH) throw new Error('too few random bytes for a code')
  return written([...digits, checksum(digits)].map((digit) => ALPHABET.charAt(digit)).join(''))
}

/** The code as it was given out, however it was typed: in any case, with or without hyphens and the prefix, O for 0, I or L for 1. Undefined: the text is no code of ours. */
export function readCode(typed: string): string | undefined {
  if (typed.length > TYPED_LENGTH_MAX) return undefined
  const plain = typed
    .toUpperCase()
    .replace(/[\s\p{Pd}_.]/gu, '')
    .replaceAll('O', '0')
    .replace(/[IL]/g, '1')
  const characters = CODE.exec(plain)?.[1]
  if (characters === undefined) return undefined
  const digits = [...characters].map((character) => ALPHABET.indexOf(character))
  return checksum(digits.slice(0, -1)) === digits.at(-1) ? written(characters) : undefined
}

/** `TG-…last4` */
export const codeDisplayOf = (code: string): string => `${PREFIX}-…${code.slice(-4)}`

function written(characters: string): string {
  const groups = Array.from({ length: LENGTH / GROUP_LENGTH }, (_, group) =>
    characters.slice(group * GROUP_LENGTH, (group + 1) * GROUP_LENGTH),
  )
  return [PREFIX, ...groups].join('-')
}

/**
 * In the field of 32 elements, each place has another power of the generator (x⁵ + x² + 1) as its weight, and the checksum's own place has 1: so one wrong character and any two
 * swapped characters are always found.
 */
function checksum(digits: readonly number[]): number {
  return digits.reduceRight((sum, digit) => timesGenerator(sum ^ digit), 0)
}

function timesGenerator(element: number): number {
  const doubled = element << 1
  return doubled & 32 ? doubled ^ 37 : doubled
}
