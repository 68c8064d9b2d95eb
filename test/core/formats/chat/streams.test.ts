/** The golden streams through chat: the same bytes however the network cut them, equal to the oracle's, and to the files beside the native streams. */

import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { byteByByte, randomCuts, splitsInTwo, whole } from '../../../support/chunks.ts'
import { expectGolden, streamCases } from '../../../support/golden.ts'
import { runs } from '../../../support/property-runs.ts'
import { call, chunksOf, dataOf, STAMP, stream } from './chat-call.ts'
import { oracle } from './oracle.ts'

const ECHOES = [
  { name: 'usage on the finish chunk', echo: {} },
  { name: 'usage on a chunk of its own', echo: { includesUsageChunk: true } },
  { name: 'legacy functions', echo: { isLegacy: true } },
  { name: 'custom tools', echo: { customTools: new Set(['f', 'read_tide', 'set_alarm']) } },
]

describe.each(streamCases())('$name', ({ native, folder, usage }) => {
  test('is what chat.sse says', () => {
    expectGolden(folder, 'chat.sse', stream(whole(native)).text)
  })

  test('ends and bills as usage.json says', () => {
    const { fault, text } = stream(whole(native))
    expect(fault?.name ?? 'complete').toBe(usage.end)
    const shown = chunksOf(text).filter((chunk) => chunk['usage'])
    if (usage.end !== 'complete') expect([shown, text.includes('finish_reason":"'), text.includes('[DONE]')]).toEqual([[], false, false])
    else {
      const { input, output, cacheRead, cacheWrite5m, cacheWrite1h } = usage.usage
      const prompt = input + cacheRead + cacheWrite5m + cacheWrite1h
      expect(shown).toHaveLength(1)
      expect(shown[0]?.['usage']).toMatchObject({ prompt_tokens: prompt, completion_tokens: output, total_tokens: prompt + output })
      expect(shown[0]?.['usage'].prompt_tokens_details.cached_tokens).toBe(cacheRead)
      expect(shown[0]?.['usage'].prompt_tokens_details.cache_write_tokens).toBe(cacheWrite5m + cacheWrite1h)
    }
  })

  test('is the same however it is cut', () => {
    const expected = stream(whole(native))
    expect(stream(byteByByte(native))).toEqual(expected)
    fc.assert(
      fc.property(randomCuts(native), (chunks) => stream(chunks).text === expected.text),
      { numRuns: runs(30) },
    )
    if (native.length < 3000)
      for (const split of splitsInTwo(native)) if (stream(split).text !== expected.text) expect(stream(split)).toEqual(expected)
  })

  test.each(ECHOES)('says what the oracle says: $name', ({ echo }) => {
    const { text, fault } = stream(whole(native), call(echo))
    const slow = oracle(native, call(echo), STAMP)
    const data = dataOf(text)
    if (fault !== undefined) data.pop()
    expect(fault === undefined ? 'complete' : 'fault').toBe(slow.end)
    expect(data.map((frame) => (frame === '[DONE]' ? frame : JSON.stringify(JSON.parse(frame))))).toEqual([...slow.frames])
  })
})
