/**
 * The native stream that a complete message would have been, for an upstream that answers a request for a stream with JSON. The text of its blocks comes in deltas: clients
 * do not show text that `content_block_start` holds. Rules: native.md "Stream"; faults.md "Before the first byte".
 */

import { type ByteString, join, toBytes } from '../bytes/byte-string.ts'
import { parseExact } from '../bytes/exact-json.ts'
import { isObject, type JsonObject } from '../json.ts'
import { writeNativeEvent } from './event.ts'
import type { NativeMessage } from './message.ts'

/** The most text in one delta, in UTF-16 units: the length of an event is bounded. */
const PIECE_LENGTH = 16_384

export function streamOfMessage(message: NativeMessage): Uint8Array {
  const { content, stop_reason, stop_sequence, ...head } = parseExact(new TextDecoder().decode(message.bytes)) as Record<string, unknown>
  const blocks = (content as readonly unknown[]).filter(isObject)
  const frames = [
    writeNativeEvent('message_start', { message: { ...head, content: [], stop_reason: null, stop_sequence: null } }),
    ...blocks.flatMap(framesOfBlock),
    writeNativeEvent('message_delta', {
      delta: { stop_reason: stop_reason ?? null, stop_sequence: stop_sequence ?? null },
      usage: head['usage'],
    }),
    writeNativeEvent('message_stop'),
  ]
  return toBytes(join(frames))
}

function framesOfBlock(block: JsonObject, index: number): readonly ByteString[] {
  const { start, deltas } = streamed(block)
  return [
    writeNativeEvent('content_block_start', { index, content_block: start }),
    ...deltas.map((delta) => writeNativeEvent('content_block_delta', { index, delta })),
    writeNativeEvent('content_block_stop', { index }),
  ]
}

type Streamed = Readonly<{ start: JsonObject; deltas: readonly JsonObject[] }>

/** The block as its stream begins, and the deltas that follow. A block of an unknown kind is whole at its beginning. */
function streamed(block: JsonObject): Streamed {
  const { text, citations, thinking, signature, input } = block
  switch (block['type']) {
    case 'text': {
      const cited = Array.isArray(citations) ? citations : []
      return {
        start: { ...block, text: '', ...(cited.length > 0 ? { citations: [] } : {}) },
        deltas: [
          ...piecesOf(text).map((piece) => ({ type: 'text_delta', text: piece })),
          ...cited.map((citation) => ({ type: 'citations_delta', citation })),
        ],
      }
    }
    case 'thinking':
      return {
        start: { ...block, thinking: '', signature: '' },
        deltas: [
          ...piecesOf(thinking).map((piece) => ({ type: 'thinking_delta', thinking: piece })),
          ...(typeof signature === 'string' && signature !== '' ? [{ type: 'signature_delta', signature }] : []),
        ],
      }
    default:
      if (!isObject(input)) return { start: block, deltas: [] }
      return {
        start: { ...block, input: {} },
        deltas:
          Object.keys(input).length === 0
            ? []
            : piecesOf(JSON.stringify(input)).map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
      }
  }
}

/** The text in pieces, none of which ends within a pair of surrogates. */
function piecesOf(text: unknown): readonly string[] {
  if (typeof text !== 'string') return []
  const pieces: string[] = []
  for (let at = 0; at < text.length; ) {
    const end = at + PIECE_LENGTH
    const isWithinPair = end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800
    pieces.push(text.slice(at, isWithinPair ? end - 1 : end))
    at = isWithinPair ? end - 1 : end
  }
  return pieces
}
