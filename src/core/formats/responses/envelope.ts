/**
 * `encrypted_content` of a reasoning item: an envelope around the native thinking block, so that a client that sends the item back sends back the block, letter
 * by letter as it was signed, whatever it did to the summary. The envelope is opaque to clients, but not secret. Rules: responses.md "Sealed reasoning".
 */

import { type ByteString, encodeJson } from '../../bytes/byte-string.ts'
import { checkJsonBounds } from '../../bytes/json-scan.ts'
import { isObject } from '../../json.ts'
import type { Block } from '../../native/shapes.ts'
import { thinkingBlocks } from '../translate/thinking.ts'
import { bytesOf, type Pieces, pieces, shared } from './pieces.ts'

const VERSION = 1
/** The bound on an envelope's separators, of which our own have 13: the bounds on the body do not cover JSON inside strings. */
const SEPARATORS_MAX = 32

/** The envelope around a native block that is given as JSON. `modelId` is public: another model's thinking must not be sent to this one. */
export function seal(modelId: string, block: Pieces): Pieces {
  const envelope = bytesOf(pieces`{"v":${VERSION},"m":${encodeJson(modelId)},"b":[${block}]}`)
  return shared(Buffer.from(envelope.buffer, envelope.byteOffset, envelope.byteLength).toString('base64url') as ByteString)
}

/** The thinking block as JSON, from literals. */
export const thinkingJson = (thinking: Pieces, signature: ByteString): Pieces =>
  pieces`{"type":"thinking","thinking":${thinking},"signature":${signature}}`

/** The redacted block as JSON. */
export const redactedJson = (data: string): Pieces => [encodeJson({ type: 'redacted_thinking', data })]

/** The blocks of an envelope of ours for this model; none for anything else. */
export function unseal(modelId: string, sealed: unknown): readonly Block[] {
  if (typeof sealed !== 'string') return []
  const text = Buffer.from(sealed, 'base64url').toString('utf8')
  if (typeof checkJsonBounds(text, SEPARATORS_MAX) === 'string') return []
  let envelope: unknown
  try {
    envelope = JSON.parse(text)
  } catch {
    return []
  }
  if (!isObject(envelope) || envelope['v'] !== VERSION || envelope['m'] !== modelId) return []
  return thinkingBlocks(envelope['b'])
}
