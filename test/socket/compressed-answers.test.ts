/** An upstream that compresses although identity was asked for: what it sent is read, what is broken or boundless is a broken upstream. Rules: faults.md "Upstream calls". */

import { afterAll, expect, test } from 'bun:test'
import { gzipSync } from 'node:zlib'
import { chunk, EVENT_STREAM, head, LAST_CHUNK, type Script, textFrames } from '../support/fake-upstream.ts'
import { startStage } from '../support/stage.ts'

const stage = await startStage()
afterAll(() => stage.stop())

const MEGABYTE = 1024 * 1024
const compressed = (bytes: Uint8Array): Script => [
  head(200, { 'content-type': 'application/json', 'content-encoding': 'gzip', 'content-length': String(bytes.length) }),
  { bytes },
]
const MESSAGE = JSON.stringify({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'x',
  content: [{ type: 'text', text: 'Good morning' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 3 },
})

test('a whole answer that is compressed is read', async () => {
  stage.play(compressed(gzipSync(MESSAGE)))
  const answer = await stage.ask()
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('Good morning')])
  expect(await stage.receiptOf(answer)).toMatchObject({ outcome: 'complete', inputTokens: 10 })
})

test('one whose compression is broken is 502, and so is one that swells beyond measure, without the memory for it', async () => {
  const broken = Buffer.from(gzipSync(MESSAGE))
  broken.fill(7, 20, 60)
  const bomb = gzipSync(Buffer.alloc(300 * MEGABYTE, ' '), { level: 9 })
  for (const bytes of [broken, bomb]) {
    const beforeBytes = process.memoryUsage.rss()
    stage.play(compressed(bytes))
    const answer = await stage.ask()
    expect(answer.status).toBe(502)
    expect(await stage.receiptOf(answer)).toBeUndefined()
    expect(process.memoryUsage.rss() - beforeBytes).toBeLessThan(250 * MEGABYTE)
  }
})

test('a stream whose compression breaks after its beginning ends as one error, and is waived', async () => {
  const whole = gzipSync(textFrames('Good morning').slice(0, 3).join(''))
  const start = head(200, { ...EVENT_STREAM, 'content-encoding': 'gzip', 'transfer-encoding': 'chunked' })
  stage.play([start, chunk(whole.subarray(0, -8)), { delayMs: 50 }, chunk(Buffer.alloc(64, 7)), LAST_CHUNK])
  const answer = await stage.ask({ stream: true })
  const text = await answer.text()
  expect([text.split('event: error').length - 1, text.includes('message_stop')]).toEqual([1, false])
  expect(await stage.receiptOf(answer)).toMatchObject({ outcome: 'fault', costPicos: 0n })
})
