/** A client's request body, read once: the bytes as they came, and what they parse to. Rules: requests.md "Bodies", "JSON bounds". */

import { type ByteString, fromBytes } from './bytes/byte-string.ts'
import { checkJsonBounds, type Member, membersOf, scanJson } from './bytes/json-scan.ts'
import { isObject } from './json.ts'
import { JSON_DEPTH_MAX, JSON_SEPARATORS_MAX } from './limits.ts'
import { Refusal } from './refusal.ts'

export type Body = Readonly<{
  bytes: Uint8Array
  json: Readonly<Record<string, unknown>>
  /** Where each top-level member's value stands in `bytes`, in order of appearance; a repeated name has several spans. */
  members: readonly Member[]
}>

const PARSER_TEXT_LENGTH_MAX = 200
const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** Parses the bytes; a refusal is the 400 that says what is wrong with them. A byte order mark is left out. */
export function parseBody(received: Uint8Array): Body | Refusal {
  if (received.byteLength === 0) return bad('Invalid JSON: the request body is empty')
  const bytes = withoutBom(received)
  let text: string
  try {
    text = UTF8.decode(bytes)
  } catch {
    return bad('Invalid JSON: the request body is not valid UTF-8')
  }
  // A text with as many characters as bytes is ASCII, so it serves as the byte string without another copy.
  const isAscii = text.length === bytes.byteLength
  const scanned = isAscii ? scanJson(text as ByteString) : checkJsonBounds(text, JSON_SEPARATORS_MAX)
  if (scanned === 'too-deep') return bad(`Invalid JSON: nesting deeper than ${JSON_DEPTH_MAX} levels`)
  if (scanned === 'too-many-separators') return bad(`Invalid JSON: more than ${JSON_SEPARATORS_MAX} commas, colons, arrays and objects`)
  try {
    const json: unknown = JSON.parse(text)
    if (!isObject(json)) return bad('Request body must be a JSON object')
    return isAscii ? { bytes, json, members: scanned.members } : withMembers(bytes, json)
  } catch (error) {
    return bad(`Invalid JSON: ${error instanceof Error ? reasonOf(error) : 'it cannot be parsed'}`)
  }
}

/** Finds the members on first use: only the messages format, which forwards the client's bytes, asks where they stand. */
function withMembers(bytes: Uint8Array, json: Body['json']): Body {
  let found: Body['members'] | undefined
  return {
    bytes,
    json,
    get members() {
      found ??= membersOf(fromBytes(bytes))
      return found
    },
  }
}

const reasonOf = ({ message }: Error): string => message.replace(/^JSON Parse error: /, '').slice(0, PARSER_TEXT_LENGTH_MAX)

const bad = (message: string): Refusal => new Refusal('invalidRequest', { message })

const withoutBom = (bytes: Uint8Array): Uint8Array =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes
