/** An answer in binary frames is read as the native stream inside it, and a broken one breaks. Rules: native.md "Binary frames". */

import { expect, test } from 'bun:test'
import { binaryFramesDecoder } from '../../../src/upstream/doors/binary-frames.ts'
import { chunkFrame } from '../../support/binary-frames.ts'

const STOP = '{"type":"message_stop","amazon-bedrock-invocationMetrics":{"outputTokenCount":3}}'
const DELTA = '{"type":"message_delta","usage":{"output_tokens":2}}'
const decoded = (pieces: readonly Uint8Array[]) => {
  const told: unknown[] = []
  const decoder = binaryFramesDecoder((difference) => told.push(difference))
  const given = pieces.map((piece) => [Buffer.from(decoder.push(piece)).toString(), decoder.isBroken])
  const end = Buffer.from(decoder.end()).toString()
  return { given, end: [end, decoder.isBroken], told }
}

test('a whole stream ends well, and a difference of the counts is told', () => {
  const { given, end, told } = decoded([chunkFrame(DELTA), chunkFrame(STOP)])
  expect(given).toEqual([
    [`event: message_delta\ndata: ${DELTA}\n\n`, false],
    ['event: message_stop\ndata: {"type":"message_stop"}\n\n', false],
  ])
  expect([end, told]).toEqual([['', false], [{ counter: 'output', ours: 2, theirs: 3 }]])
})

test('what came before a break is given, and the break is told in the same step', () => {
  const frame = chunkFrame(DELTA)
  const broken = Buffer.concat([frame, frame])
  broken[frame.length + 20] = 0
  expect(decoded([broken]).given).toEqual([[`event: message_delta\ndata: ${DELTA}\n\n`, true]])
})

test('a stream that ends inside a frame is broken', () => {
  expect(decoded([chunkFrame(DELTA).subarray(0, -1)])).toMatchObject({ given: [['', false]], end: ['', true] })
})
