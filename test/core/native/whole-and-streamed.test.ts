/** An answer bills the same whether its upstream sends it in one piece or as a stream: the figures follow the answer, not its transport. */

import { expect, test } from 'bun:test'
import { readMessage } from '../../../src/core/native/message.ts'
import { finalUsage } from '../../../src/core/native/observation.ts'
import { NativeReader, type NativeSink } from '../../../src/core/native/reader.ts'
import { streamOfMessage } from '../../../src/core/native/stream-of-message.ts'
import { type ExpectedUsage, GOLDEN_BOUNDS, GOLDEN_MODEL, streamCases } from '../../support/golden.ts'

const NO_SINK: NativeSink = { delta: () => undefined, event: () => undefined, ignored: () => undefined }

function billedAsStream(native: Uint8Array): ReturnType<typeof finalUsage> {
  const reader = new NativeReader(NO_SINK, GOLDEN_MODEL)
  reader.push(native)
  reader.end('ended')
  return finalUsage(reader.observation, GOLDEN_BOUNDS)
}

/** The answer in one piece with the `usage` of the stream's `message_delta`, as the vendor would send it. */
function messageOf(native: Uint8Array): Uint8Array {
  const delta = Buffer.from(native)
    .toString('utf8')
    .split('\n')
    .find((line) => line.includes('"type":"message_delta"'))
  const { usage } = JSON.parse(delta?.slice('data: '.length) ?? '')
  const content = [{ type: 'text', text: 'The harbour lights went out.' }]
  return Buffer.from(
    JSON.stringify({ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content, stop_reason: 'end_turn', usage }),
  )
}

/** Golden streams whose last event states everything. */
const FULL = ['usage-compaction', 'usage-iterations-repeated', 'usage-writes-moved-to-5m', 'usage-writes-fewer-moved-to-5m']

test('a final event that states everything bills as the same figures in one piece do', () => {
  const cases = streamCases().filter(({ name }) => FULL.includes(name))
  expect(cases).toHaveLength(FULL.length)
  for (const { name, native, usage } of cases) {
    const expected: Pick<ExpectedUsage, 'usage' | 'isEstimated'> = { usage: usage.usage, isEstimated: false }
    const message = readMessage(messageOf(native))
    if (message === undefined) throw new Error(`${name} is no message`)
    expect([name, finalUsage(message.observation, GOLDEN_BOUNDS)]).toMatchObject([name, expected])
    expect([name, billedAsStream(native)]).toMatchObject([name, expected])
    expect([name, billedAsStream(streamOfMessage(message))]).toMatchObject([name, expected])
  }
})
