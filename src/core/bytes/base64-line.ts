/**
 * Decodes base64 from bytes into bytes, for short texts that come many times a second: the engine's own decoder needs a string and a view for each, and these cost several times
 * what decoding does. Rules: native.md "Binary frames"; house.md "One stage".
 */

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
/** The bit that no value has. */
const INVALID = 0x40
const VALUES = new Uint8Array(256).fill(INVALID)
for (const [value, char] of [...ALPHABET].entries()) VALUES[char.charCodeAt(0)] = value

const QUOTE = 0x22
const PADDING = 0x3d
const SPACE = 0x20

/**
 * Decodes the text from `from` up to the quote that ends it, which stands before `to`, and writes what it stands for to `target` from `at` on. Returns the end of what was
 * written; -1 where the text is no base64, or stands for anything below a space, such as the end of a line.
 */
export function decodeBase64Line(source: Uint8Array, from: number, to: number, target: Uint8Array, at: number): number {
  let out = at
  for (let group = from; group < to; group += 4) {
    const first = source[group] ?? 0
    if (first === QUOTE) return out
    const a = bitsOf(first)
    const b = bitsOf(source[group + 1])
    const c = bitsOf(source[group + 2])
    const d = bitsOf(source[group + 3])
    if (((a | b | c | d) & INVALID) !== 0) return lastGroup(source, group, to, target, out)
    const high = (a << 2) | (b >> 4)
    const middle = ((b & 0xf) << 4) | (c >> 2)
    const low = ((c & 0x3) << 6) | d
    // One of them is below a space where one difference is negative.
    if (((high - SPACE) | (middle - SPACE) | (low - SPACE)) < 0) return -1
    target[out] = high
    target[out + 1] = middle
    target[out + 2] = low
    out += 3
  }
  return -1
}

const bitsOf = (code: number | undefined): number => VALUES[code ?? 0] ?? INVALID

/** A group of which one or two characters are padding. */
function lastGroup(source: Uint8Array, group: number, to: number, target: Uint8Array, out: number): number {
  const third = source[group + 2] ?? 0
  if (group + 4 >= to || source[group + 3] !== PADDING || source[group + 4] !== QUOTE) return -1
  const a = bitsOf(source[group])
  const b = bitsOf(source[group + 1])
  const c = third === PADDING ? 0 : bitsOf(third)
  const high = (a << 2) | (b >> 4)
  const middle = ((b & 0xf) << 4) | (c >> 2)
  if (((a | b | c) & INVALID) !== 0 || high < SPACE) return -1
  target[out] = high
  if (third === PADDING) return out + 1
  if (middle < SPACE) return -1
  target[out + 1] = middle
  return out + 2
}
