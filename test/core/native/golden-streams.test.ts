/** Every golden stream bills what was worked out for it with a pencil, however the network cuts it. Rules: native.md "Stream", "Usage". */

import { describe, expect, test } from 'bun:test'
import { finalUsage, partialUsage } from '../../../src/core/native/observation.ts'
import { NativeReader, type NativeSink } from '../../../src/core/native/reader.ts'
import { Refusal } from '../../../src/core/refusal.ts'
import { cuts, splitsInTwo } from '../../support/chunks.ts'
import { type ExpectedUsage, GOLDEN_BOUNDS, GOLDEN_MODEL, streamCases } from '../../support/golden.ts'

const NO_SINK: NativeSink = { delta: () => undefined, event: () => undefined, ignored: () => undefined }

/** What the stream bills, however it ended. */
function usageOf(chunks: readonly Uint8Array[]): ExpectedUsage {
  const reader = new NativeReader(NO_SINK, GOLDEN_MODEL)
  for (const chunk of chunks) reader.push(chunk)
  reader.end('ended')
  const { observation, state } = reader
  const end = state instanceof Refusal ? state.name : state
  if (end === 'reading') throw new Error('the stream never ended')
  const { usage, isEstimated } = end === 'complete' ? finalUsage(observation, GOLDEN_BOUNDS) : partialUsage(observation, GOLDEN_BOUNDS)
  return { usage, isEstimated, stopReason: observation.stopReason ?? null, end }
}

describe('every golden stream bills what its usage.json says, however the network cuts it', () => {
  for (const { name, native, usage } of streamCases()) {
    test(name, () => {
      for (const [how, chunks] of cuts(native)) expect(usageOf(chunks), how).toEqual(usage)
      if (native.length < 1500) for (const chunks of splitsInTwo(native)) expect(usageOf(chunks)).toEqual(usage)
    })
  }
})

test('the golden streams hold the cases that the translators must survive', () => {
  expect(streamCases().length).toBeGreaterThanOrEqual(34)
})
