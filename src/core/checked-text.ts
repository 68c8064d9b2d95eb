/** The random part of our secrets: 43 base62 characters, the last 6 a checksum, so that a typo is found before any look-up. Rules: keys.md "Secrets". */

const LENGTH = 43
const CHECKSUM_LENGTH = 6
const FORM = new RegExp(`^[0-9A-Za-z]{${LENGTH}}$`)
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** `randomBytes` must give at least 64 bytes a call. */
export function makeChecked(randomBytes: () => Uint8Array): string {
  const body = base62(randomBytes, LENGTH - CHECKSUM_LENGTH)
  return `${body}${checksum(body)}`
}

export const isChecked = (text: string): boolean => FORM.test(text) && text.endsWith(checksum(text.slice(0, -CHECKSUM_LENGTH)))

/** Uniform base62: bytes of 248 and above are thrown away, since 248 = 4 × 62. */
function base62(randomBytes: () => Uint8Array, length: number): string {
  let text = ''
  while (text.length < length) for (const byte of randomBytes()) if (byte < 248 && text.length < length) text += BASE62.charAt(byte % 62)
  return text
}

/** CRC-32 of each byte alone. */
const CRCS = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  return crc
})

/** CRC-32 (https://www.rfc-editor.org/rfc/rfc1952#section-8) of the body in 6 base62 characters. */
function checksum(body: string): string {
  let crc = -1
  for (let i = 0; i < body.length; i++) crc = (crc >>> 8) ^ (CRCS[(crc ^ body.charCodeAt(i)) & 0xff] ?? 0)
  let rest = (crc ^ 0xffffffff) >>> 0
  let text = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    text = BASE62.charAt(rest % 62) + text
    rest = Math.floor(rest / 62)
  }
  return text
}
