/** What an open stream holds between two pieces, so that thousands of them fit into memory: nothing of the piece that has gone to its client. */

import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import { chatFormat } from '../../../src/core/formats/chat/format.ts'
import { MessagesTranscoder } from '../../../src/core/formats/messages/stream.ts'
import type { Transcoder } from '../../../src/core/transcoder.ts'
import { GOLDEN_BOUNDS, GOLDEN_MODEL } from '../../support/golden.ts'
import { until } from '../../support/until.ts'
import { call, STAMP } from './chat/chat-call.ts'

const STREAMS = 64
const PIECE_BYTES = 256 * 1024
const DELTA = 'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}\n\n'
const PIECE = Buffer.from(DELTA.repeat(Math.ceil(PIECE_BYTES / DELTA.length)))

const heapBytes = (): number => {
  Bun.gc(true)
  return heapStats().heapSize
}

const MAKE: Readonly<Record<string, () => Transcoder>> = {
  messages: () => new MessagesTranscoder(GOLDEN_MODEL, GOLDEN_BOUNDS),
  chat: () => chatFormat.transcoder(call(), STAMP),
}

test.each(Object.entries(MAKE))('%s: a stream that waits for its next piece holds nothing of the last one', async (_, make) => {
  const before = heapBytes()
  const open = Array.from({ length: STREAMS }, make)
  for (const transcoder of open) transcoder.push(PIECE)
  // What a collection leaves, because something on the stack still looks like an address of it, the next one takes.
  await until(() => (heapBytes() - before) / STREAMS < PIECE_BYTES / 8)
  for (const transcoder of open) expect(transcoder.observation.contentBytes).toBeGreaterThan(0)
})
