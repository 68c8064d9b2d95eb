/**
 * Images and documents: data URLs, bare base64 and links to native sources. The media type is told from the bytes, since native refuses a wrong one.
 * Rules: translation.md "Media".
 */

import type { Block } from '../../native/shapes.ts'
import { invalid, type Refusal } from '../../refusal.ts'

/** The payload of a data URL, with the type that the URL states, in lower case. `data` stays base64 or bytes, as it came: a conversion takes as long as reading it. */
type Payload = Readonly<{ mediaType: string; data: Base64 | Buffer }>
/** Base64 in the standard alphabet, padded. */
type Base64 = string

const base64Of = (data: Base64 | Buffer): Base64 => (typeof data === 'string' ? data : data.toString('base64'))
const bytesOf = (data: Base64 | Buffer): Buffer => (typeof data === 'string' ? Buffer.from(data, 'base64') : data)

export const isLink = (url: string): boolean => /^https?:\/\//i.test(url)

const isDataUrl = (url: string): boolean => /^data:/i.test(url)

/** An image part's URL: a data URL or a link. A PDF that was sent as an image becomes a document. */
export function imageBlock(url: unknown, path: string): Block | Refusal {
  if (typeof url !== 'string') return invalid(path, 'Input should be a valid string')
  if (isLink(url)) return { type: 'image', source: { type: 'url', url } }
  if (!isDataUrl(url)) return invalid(path, 'Input should be a data URL or an http(s) URL')
  const payload = readDataUrl(url)
  if (payload === undefined) return invalid(path, 'invalid data URL')
  return mediaBlock(payload.data, undefined) ?? invalid(path, 'unsupported image type')
}

export const documentLink = (url: unknown, path: string): Block | Refusal =>
  typeof url === 'string' && isLink(url)
    ? { type: 'document', source: { type: 'url', url } }
    : invalid(path, 'Input should be an http(s) URL')

/** A file's content, a data URL or bare base64: an image, a PDF or text. */
export function fileBlock(fileData: unknown, filename: unknown, path: string): Block | Refusal {
  if (typeof fileData !== 'string') return invalid(path, 'Input should be a valid string')
  const title = typeof filename === 'string' && filename !== '' ? filename : undefined
  const payload = isDataUrl(fileData) ? readDataUrl(fileData) : bareBase64(fileData)
  if (payload === undefined) return invalid(path, 'Input should be a data URL or base64')
  const media = mediaBlock(payload.data, title)
  if (media !== undefined) return media
  if (!isText(payload.mediaType, title ?? '')) return invalid(path, 'unsupported file type')
  const text = utf8(bytesOf(payload.data))
  if (text === undefined) return invalid(path, 'text is not valid UTF-8')
  if (text.trim() === '') return invalid(path, 'file is empty')
  return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text }, ...(title === undefined ? {} : { title }) }
}

/** The longest type and parameters of a data URL; a text with longer ones is not taken for a data URL. */
const HEAD_LENGTH_MAX = 1_000

/** `data:[type][;param=value…][;base64],payload`; undefined when the text is no data URL. */
function readDataUrl(url: string): Payload | undefined {
  const comma = url.indexOf(',')
  if (comma === -1 || comma > HEAD_LENGTH_MAX) return undefined
  const [type = '', ...parameters] = url
    .slice('data:'.length, comma)
    .split(';')
    .map((part) => part.trim().toLowerCase())
  const payload = url.slice(comma + 1)
  if (!parameters.includes('base64')) return { mediaType: type, data: percentDecoded(payload) }
  const base64 = cleanBase64(payload.includes('%') ? percentDecoded(payload).toString() : payload)
  return base64 === undefined ? undefined : { mediaType: type, data: base64 }
}

function bareBase64(text: string): Payload | undefined {
  const base64 = cleanBase64(text)
  return base64 === undefined || base64 === '' ? undefined : { mediaType: '', data: base64 }
}

/** Standard, padded base64 from what clients send: line breaks, the URL-safe alphabet, no padding. */
function cleanBase64(text: string): string | undefined {
  // Correct base64 takes one pass: each further pass over a large image takes as long as reading it.
  if (text.length % 4 === 0 && !NOT_BASE64.test(withoutPadding(text))) return text
  const bare = withoutPadding(
    text
      .replace(/[\t\n\f\r ]+/g, '')
      .replaceAll('-', '+')
      .replaceAll('_', '/'),
  )
  if (bare.length % 4 === 1 || NOT_BASE64.test(bare)) return undefined
  return bare.padEnd(Math.ceil(bare.length / 4) * 4, '=')
}

const withoutPadding = (text: string): string => (text.endsWith('==') ? text.slice(0, -2) : text.endsWith('=') ? text.slice(0, -1) : text)

const NOT_BASE64 = /[^A-Za-z0-9+/]/

const PERCENT = 0x25
/** The value of a hexadecimal digit by its code; anything else is 16. */
const HEX = Uint8Array.from({ length: 256 }, (_, code) => {
  const digit = Number.parseInt(String.fromCharCode(code), 16)
  return Number.isNaN(digit) ? 16 : digit
})

/** The bytes that a text escapes; what is not an escape stays as it is. */
function percentDecoded(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8')
  let length = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    const high = byte === PERCENT ? (HEX[bytes[at + 1] ?? 0] ?? 16) : 16
    const low = high < 16 ? (HEX[bytes[at + 2] ?? 0] ?? 16) : 16
    bytes[length++] = low < 16 ? high * 16 + low : byte
    if (low < 16) at += 2
  }
  return bytes.subarray(0, length)
}

/** An image or a PDF by its first bytes; undefined for anything else. */
function mediaBlock(data: Base64 | Buffer, title: string | undefined): Block | undefined {
  const head = typeof data === 'string' ? Buffer.from(data.slice(0, 24), 'base64') : data.subarray(0, 18)
  const mediaType = sniff(head.toString('latin1'))
  if (mediaType === undefined) return undefined
  const source = { type: 'base64', media_type: mediaType, data: base64Of(data) }
  if (mediaType !== 'application/pdf') return { type: 'image', source }
  return { type: 'document', source, ...(title === undefined ? {} : { title }) }
}

function sniff(head: string): string | undefined {
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (head.startsWith('GIF8')) return 'image/gif'
  if (head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP') return 'image/webp'
  return head.startsWith('%PDF-') ? 'application/pdf' : undefined
}

const TEXT_TYPE = /^text\/|^application\/(json|xml|yaml|x-yaml|javascript)$/
const TEXT_NAME = /\.(txt|md|markdown|csv|tsv|json|jsonl|xml|yaml|yml|html|log)$/i

/** A media type decides; where there is none, or only the type for "some bytes", the file's name does. */
const isText = (mediaType: string, filename: string): boolean =>
  TEXT_TYPE.test(mediaType) || ((mediaType === '' || mediaType === 'application/octet-stream') && TEXT_NAME.test(filename))

function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
