/**
 * Streams of servers that speak chat, one recording for each way in which they differ: what native, chat and the receipt make of them, however the network cuts them. Rules:
 * openai.md "Chunks", "Blocks", "Ends", "Usage", "Chat answers".
 */

import { describe, expect, test } from 'bun:test'
import { cuts, splitsInTwo, whole } from '../../../../support/chunks.ts'
import { expectGolden } from '../../../../support/golden.ts'
import { chunksOf, dataOf, type Json, STAMP } from '../chat-call.ts'
import { asNative, billedAsNative, CHAT_MODEL, passedOn, recordings } from './recordings.ts'

const CASES = recordings()

describe.each(CASES)('$name', ({ upstream, folder, usage }) => {
  test('is what native.sse says to native clients', () => {
    expectGolden(folder, 'native.sse', asNative(whole(upstream)))
  })

  test('is what chat.sse says to chat clients', () => {
    expectGolden(folder, 'chat.sse', passedOn(whole(upstream)).text)
  })

  test('ends and bills as usage.json says, for both', () => {
    expect(billedAsNative(whole(upstream))).toMatchObject(usage)
    expect(passedOn(whole(upstream)).billed).toMatchObject(usage)
  })

  test('is the same however it is cut', () => {
    const [native, chat] = [asNative(whole(upstream)), passedOn(whole(upstream))]
    for (const [how, chunks] of cuts(upstream)) {
      expect(asNative(chunks), how).toBe(native)
      expect(passedOn(chunks), how).toEqual(chat)
    }
    if (upstream.length > 1_500) return
    for (const chunks of splitsInTwo(upstream)) {
      expect(asNative(chunks)).toBe(native)
      expect(passedOn(chunks).text).toBe(chat.text)
    }
  })

  test('names nothing of the server to chat clients, and always our id and model', () => {
    const { text } = passedOn(whole(upstream), true)
    for (const chunk of chunksOf(text).filter((data) => !('error' in data))) {
      expect([chunk['id'], chunk['model'], chunk['created']]).toEqual(['chatcmpl-0190', CHAT_MODEL.id, STAMP.createdSeconds])
      expect(Object.keys(chunk).filter((name) => !CHUNK_FIELDS.includes(name))).toEqual([])
    }
    expect(text).not.toMatch(/Somebody|fp_1|obfuscation|"cost"|is_byok|native_finish_reason/)
  })

  test('says its finish, its usage and [DONE] only when it is settled', () => {
    expect(passedOn(whole(upstream)).now).not.toMatch(/"finish_reason":"|\[DONE\]|"prompt_tokens"/)
  })

  test('says on a usage chunk of its own, where the client asked for it, what is billed', () => {
    const { text } = passedOn(whole(upstream), true)
    const shown = chunksOf(text).filter(({ usage: figures }) => figures)
    if (usage.end !== 'complete') return expect(shown).toEqual([])
    const { input, output, cacheRead } = usage.usage
    expect(shown).toHaveLength(1)
    expect(shown[0]).toMatchObject({ choices: [], usage: { prompt_tokens: input + cacheRead, completion_tokens: output } })
    expect(dataOf(text).at(-1)).toBe('[DONE]')
  })
})

const CHUNK_FIELDS = ['id', 'object', 'created', 'model', 'choices', 'usage']

test('the recordings hold the traps that others fell into', () => {
  expect(CASES.length).toBeGreaterThanOrEqual(50)
})

const stream = (...chunks: readonly Json[]): Uint8Array[] => [
  Buffer.from(`${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`),
]
const says = (delta: Json, finish: string | null = null): Json => ({ choices: [{ index: 0, delta, finish_reason: finish }] })

test('reasoning that is not to be shown is shown to neither kind of client', () => {
  const chunks = stream(says({ reasoning_content: 'Hm' }), says({ reasoning_content: ' so' }), says({ content: 'Yes' }), says({}, 'stop'))
  expect(passedOn(chunks, false, 'none').text).not.toContain('Hm')
  expect(asNative(chunks, 'none')).not.toContain('thinking')
  expect(passedOn(chunks, false, 'none').text).not.toContain(' so')
})

test('more calls at once than may wait are an error, not memory without end', () => {
  const call = (index: number, args: string): Json =>
    says({ tool_calls: [{ index, id: `c${index}`, function: { name: 'f', arguments: args } }] })
  const waiting = Array.from({ length: 9 }, (_, index) => call(index + 1, 'x'.repeat(600_000)))
  const native = asNative(stream(call(0, '{"a"'), ...waiting, says({}, 'tool_calls')))
  expect(native.length).toBeLessThan(2_000_000)
  expect(native).toContain('event: error')
})
