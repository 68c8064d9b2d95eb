/**
 * What each of many streams holds while it waits for its next piece, in bytes on stdout; the format is the argument. In a process of its own, since what else a
 * process of tests loads or forgets meanwhile counts in the same heap.
 */

import { heapStats } from 'bun:jsc'
import { chatFormat } from '../../../src/core/formats/chat/format.ts'
import { MessagesTranscoder } from '../../../src/core/formats/messages/stream.ts'
import type { Transcoder } from '../../../src/core/transcoder.ts'
import { GOLDEN_BOUNDS, GOLDEN_MODEL } from '../../support/golden.ts'
import { call, STAMP } from './chat/chat-call.ts'

const STREAMS = 64
const PIECE_BYTES = 256 * 1024
const DELTA = 'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}\n\n'
const PIECE = Buffer.from(DELTA.repeat(Math.ceil(PIECE_BYTES / DELTA.length)))
/** What a collection leaves, because something on the stack still looks like an address of it, the next one takes. */
const COLLECTIONS = 20

const MAKE: Readonly<Record<string, () => Transcoder>> = {
  messages: () => new MessagesTranscoder(GOLDEN_MODEL, GOLDEN_BOUNDS),
  chat: () => chatFormat.transcoder(call(), STAMP),
}

async function leastHeapBytes(): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let n = 0; n < COLLECTIONS; n++) {
    Bun.gc(true)
    least = Math.min(least, heapStats().heapSize)
    await new Promise(setImmediate)
  }
  return least
}

const make = MAKE[process.argv[2] ?? '']
if (make === undefined) throw new Error(`a format is one of ${Object.keys(MAKE).join(', ')}`)
const before = await leastHeapBytes()
const open = Array.from({ length: STREAMS }, make)
for (const transcoder of open) transcoder.push(PIECE)
const heldBytes = ((await leastHeapBytes()) - before) / STREAMS
if (open.some(({ observation }) => observation.contentBytes === 0)) throw new Error('a stream has seen nothing of its piece')
console.log(JSON.stringify({ pieceBytes: PIECE.length, heldBytes }))
