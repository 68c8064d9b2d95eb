/**
 * Removes thinking that carries our own signature from a native request: it came from a server of the chat format, and a native upstream would refuse it. Nothing else is
 * touched. Rules: openai.md "Thinking".
 */

import { encodeJson, fromBytes } from '../bytes/byte-string.ts'
import { parseExact } from '../bytes/exact-json.ts'
import { membersOf } from '../bytes/json-scan.ts'
import { type Edit, edited, placeAfter } from '../bytes/splice.ts'
import { isObject } from '../json.ts'
import { isOwnSignature, OWN_SIGNATURE } from './own-signature.ts'

type Placed = Readonly<{ body: Uint8Array; modelAt: number }>

const MARK = Buffer.from(`"${OWN_SIGNATURE}`)
const { indexOf } = Buffer.prototype

/** Returns `native` itself where there is no such thinking. `modelAt`: see `Routing`. */
export function withoutOwnThinking(native: Placed): Placed {
  const { body, modelAt } = native
  if (indexOf.call(body, MARK) === -1) return native
  const place = membersOf(fromBytes(body)).findLast(({ name }) => name === 'messages')?.value
  if (place === undefined) return native
  const turns = parseExact(new TextDecoder().decode(body.subarray(place.start, place.end)))
  if (!Array.isArray(turns)) return native
  const kept = turns.map(withoutThinking)
  if (kept.every((turn, index) => turn === turns[index])) return native
  const edits: readonly Edit[] = [{ ...place, text: encodeJson(kept.filter((turn) => turn !== undefined)) }]
  return { body: edited(body, edits), modelAt: placeAfter(edits, modelAt) }
}

/** The turn itself where it has no such thinking; undefined where it held nothing else. */
function withoutThinking(turn: unknown): unknown {
  if (!isObject(turn) || !Array.isArray(turn['content'])) return turn
  const { content } = turn
  const kept = content.filter((block: unknown) => !isOwn(block))
  if (kept.length === content.length) return turn
  return kept.length === 0 ? undefined : { ...turn, content: kept }
}

const isOwn = (block: unknown): boolean => isObject(block) && block['type'] === 'thinking' && isOwnSignature(block['signature'])
