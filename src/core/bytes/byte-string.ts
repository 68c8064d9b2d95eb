/**
 * Byte strings: text whose every character is one byte (https://webidl.spec.whatwg.org/#idl-ByteString). Making one copies bytes without decoding them, so no
 * UTF-8 sequence can be broken by where the network cut it, and the engine's string search then finds frames about twice as fast as a search over the bytes.
 * Rules: platform.md "Byte strings".
 */

declare const unit: unique symbol
/** A piece of one is one. `+` and template literals forget that: `concat`, `join` and `ascii` do not. */
export type ByteString = Readonly<{ [unit]: 'ByteString'; slice(start?: number, end?: number): ByteString }> & string

export const EMPTY = '' as ByteString

/** Three at most: it stands on the hot path, where a list of arguments would be made for each delta. */
export const concat = (first: ByteString, second: ByteString, third: ByteString = EMPTY): ByteString =>
  (first + second + third) as ByteString

export const join = (parts: readonly ByteString[], separator: ByteString = EMPTY): ByteString => parts.join(separator) as ByteString

/** ASCII of ours with byte strings in it: ascii`{"id":${encodeJson(id)}}`. */
export function ascii(text: TemplateStringsArray, ...holes: readonly (ByteString | number)[]): ByteString {
  let whole = text[0] ?? ''
  for (const [index, hole] of holes.entries()) whole += `${hole}${text[index + 1]}`
  return whole as ByteString
}

/** The bytes, one character each. The engine's own on a plain view: a Buffer made for it would cost more than the copy. */
export const fromBytes = (bytes: Uint8Array, start = 0, end: number = bytes.length): ByteString =>
  latin1Slice.call(bytes, start, end) as ByteString

const { latin1Slice } = Buffer.prototype

export const toBytes = (text: ByteString): Uint8Array => Buffer.from(text, 'latin1')

/** The same in one piece. The engine keeps what was added up as a tree of its parts, and walks all of it each time a text that holds it is written. */
export const solid = (text: ByteString): ByteString => fromBytes(toBytes(text))

/** Ordinary text as UTF-8. The encoder takes a third of the time for a short text, and twice as long for a large one that is not ASCII. */
export const utf8Bytes = (text: string): Uint8Array => (text.length < SHORT_LENGTH ? UTF8.encode(text) : Buffer.from(text, 'utf8'))

const SHORT_LENGTH = 16 * 1024
const UTF8 = new TextEncoder()

/** The UTF-8 bytes of ordinary text, one character each. */
export const encode = (text: string): ByteString => Buffer.from(text, 'utf8').toString('latin1') as ByteString

/** A JSON string literal from its inside. */
export const quoted = (inside: ByteString): ByteString => ascii`"${inside}"`

/** Ordinary text from UTF-8 bytes; what is not UTF-8 becomes U+FFFD. */
export const decode = (text: string): string => (NOT_ASCII.test(text) ? Buffer.from(text, 'latin1').toString('utf8') : text)

const NOT_ASCII = /[\x80-\xff]/

/** A value as JSON, as bytes. */
export const encodeJson = (value: unknown): ByteString => encode(JSON.stringify(value))
