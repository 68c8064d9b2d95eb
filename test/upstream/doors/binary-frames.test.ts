/** An answer in binary frames is read as the native stream inside it, and a broken one breaks. Rules: native.md "Binary frames". */

import { expect, test } from 'bun:test'
import { binaryFramesDecoder } from '../../../src/upstream/doors/binary-frames.ts'
import { chunkFrame } from '../../support/binary-frames.ts'

const STOP = '{"type":"message_stop","amazon-bedrock-invocationMetrics":{"outputTokenCount":3}}'
const DELTA = '{"type":"message_delta","usage":{"output_tokens":2}}'
const decoded = (pieces: readonly Uint8Array[]) => {
  const told: unknown[] = []
  const decoder = binaryFramesDecoder((difference) => told.push(difference))
  const given = pieces.map((piece) => decoder.push(piece))
  const text = (piece: Uint8Array | 'broken'): string => (piece === 'broken' ? piece : Buffer.from(piece).toString())
  return { given: given.map(text), end: text(decoder.end()), told }
}

test('a whole stream ends well, and a difference of the counts is told', () => {
  const { given, end, told } = decoded([chunkFrame(DELTA), chunkFrame(STOP)])
  expect(given).toEqual([`event: message_delta\ndata: ${DELTA}\n\n`, 'event: message_stop\ndata: {"type":"message_stop"}\n\n'])
  expect([end, told]).toEqual(['', [{ counter: 'output', ours: 2, theirs: 3 }]])
})

test('what came before a break is given, then the break is', () => {
  const frame = chunkFrame(DELTA)
  const broken = Buffer.concat([frame, frame])
  broken[frame.length + 20] = 0
  expect(decoded([broken, frame])).toMatchObject({ given: [`event: message_delta\ndata: ${DELTA}\n\n`, 'broken'], end: 'broken' })
})

test('a stream that ends inside a frame is broken', () => {
  expect(decoded([chunkFrame(DELTA).subarray(0, -1)])).toMatchObject({ given: [''], end: 'broken' })
})
