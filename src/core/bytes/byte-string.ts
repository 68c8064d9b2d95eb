/**
 * Byte strings: text whose every character is one byte (https://webidl.spec.whatwg.org/#idl-ByteString). Making one copies bytes without decoding them, so no
 * UTF-8 sequence can be broken by where the network cut it, and the engine's string search then finds frames about twice as fast as a search over the bytes.
 * Rules: platform.md "Byte strings".
 */

declare const unit: unique symbol
/** A slice of a byte string is a byte string. `+` and template literals lose the type; `concat`, `join` and `ascii` keep it. */
export type ByteString = Readonly<{ [unit]: 'ByteString'; slice(start?: number, end?: number): ByteString }> & string

export const EMPTY = '' as ByteString

/** Takes at most three: on the hot path, rest parameters would allocate an array for each delta. */
export const concat = (first: ByteString, second: ByteString, third: ByteString = EMPTY): ByteString =>
  (first + second + third) as ByteString

export const join = (parts: readonly ByteString[], separator: ByteString = EMPTY): ByteString => parts.join(separator) as ByteString

/** A template of our own ASCII text with byte strings in it: ascii`{"id":${encodeJson(id)}}`. */
export function ascii(text: TemplateStringsArray, ...holes: readonly (ByteString | number)[]): ByteString {
  let whole = text[0] ?? ''
  for (const [index, hole] of holes.entries()) whole += `${hole}${text[index + 1]}`
  return whole as ByteString
}

/** The bytes as a byte string. It calls the engine's own function on a plain view: making a Buffer would cost more than the copy. */
export const fromBytes = (bytes: Uint8Array, start = 0, end: number = bytes.length): ByteString =>
  latin1Slice.call(bytes, start, end) as ByteString

const { latin1Slice } = Buffer.prototype

export const toBytes = (text: ByteString): Uint8Array => Buffer.from(text, 'latin1')

/** The same text in one piece. The engine keeps a concatenated string as a tree of its parts, and walks the whole tree each time a text that holds it is written. */
export const solid = (text: ByteString): ByteString => fromBytes(toBytes(text))

/** Ordinary text as UTF-8. For a short text the encoder takes a third of Buffer's time, for a large one that is not ASCII twice as long. */
export const utf8Bytes = (text: string): Uint8Array => (text.length < SHORT_LENGTH ? UTF8.encode(text) : Buffer.from(text, 'utf8'))

const SHORT_LENGTH = 16 * 1024
const UTF8 = new TextEncoder()

/** The UTF-8 bytes of ordinary text, as a byte string. */
export const encode = (text: string): ByteString => Buffer.from(text, 'utf8').toString('latin1') as ByteString

/** The JSON string literal with this inside. */
export const quoted = (inside: ByteString): ByteString => ascii`"${inside}"`

/** Ordinary text from UTF-8 bytes; what is not UTF-8 becomes U+FFFD. */
export const decode = (text: string): string => (NOT_ASCII.test(text) ? Buffer.from(text, 'latin1').toString('utf8') : text)

const NOT_ASCII = /[\x80-\xff]/

/** A value as JSON, as bytes. */
export const encodeJson = (value: unknown): ByteString => encode(JSON.stringify(value))
