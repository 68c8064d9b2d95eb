/** A stream that says too little is no answer, and all that was delivered counts. Rules: native.md "Stream". */

import { describe, expect, test } from 'bun:test'
import { writeNativeEvent } from '../../../src/core/native/event.ts'
import { partialUsage } from '../../../src/core/native/observation.ts'
import { NativeReader, type NativeSink } from '../../../src/core/native/reader.ts'
import { Refusal } from '../../../src/core/refusal.ts'
import { GOLDEN_BOUNDS, GOLDEN_MODEL } from '../../support/golden.ts'

const NOWHERE: NativeSink = { delta: () => undefined, event: () => undefined, ignored: () => undefined }
const frame = (type: string, fields: Record<string, unknown> = {}): Uint8Array => Buffer.from(writeNativeEvent(type, fields), 'latin1')
const START = frame('message_start', { message: { usage: { input_tokens: 20, output_tokens: 1 } } })

function read(...chunks: readonly Uint8Array[]): NativeReader {
  const reader = new NativeReader(NOWHERE, GOLDEN_MODEL)
  for (const chunk of chunks) reader.push(chunk)
  return reader
}

describe('NativeReader', () => {
  test('an end without a start, content or a reason to stop is no answer', () => {
    const { state } = read(frame('ping'), frame('message_stop'))
    expect(state).toBeInstanceOf(Refusal)
    expect(read(START, frame('message_stop')).state).toBe('complete')
  })

  test('the signature of hidden thinking counts as delivered, so a client that leaves before the figures come pays for it', () => {
    const signature = { type: 'signature_delta', signature: 'x'.repeat(4000) }
    const { observation } = read(START, frame('content_block_delta', { index: 0, delta: signature }))
    expect(partialUsage(observation, GOLDEN_BOUNDS)).toMatchObject({ usage: { input: 20, output: 1000 }, isEstimated: true })
  })
})
