/** A client that reads slowly costs no memory and nobody else’s time. Rules: requests.md "Backpressure". */

import { afterAll, expect, test } from 'bun:test'
import { endlessStream, frame, nativeStream, type StreamPiece, textFrames } from '../support/fake-upstream.ts'
import { CONNECTION_BYTES_MAX } from '../support/kernel-buffers.ts'
import { FORMATS, startStage } from '../support/stage.ts'
import { until } from '../support/until.ts'

const MODELS = [{ id: 'vendor-sonnet-1' }]
const stage = await startStage({ models: MODELS })
const strict = await startStage({ models: MODELS, limits: { writeStallMs: 300 } })
afterAll(() => Promise.all([stage.stop(), strict.stop()]))

const QUESTION = { model: 'vendor-sonnet-1', stream: true } as const
const MEGABYTE = 1024 * 1024
const TEXT = 'All work and no play. '.repeat(3_000)
const [start = '', open = '', , ...rest] = textFrames('', {
  input_tokens: 20,
  output_tokens: 1,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
})
const delta = (text: string): string => frame('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })
/** 64 KiB each. */
const deltas = (count: number): readonly StreamPiece[] => Array.from({ length: count }, (_, index) => delta(`${index} ${TEXT}`))

test('a client that does not read pauses the upstream, is dropped at the write limit, and pays as one that left', async () => {
  for (const format of FORMATS) {
    strict.play(endlessStream(start, open, delta(TEXT)))
    const index = strict.upstream.requests.length
    const receipts = await strict.receiptsOf(async () => {
      const raw = await strict.askRaw({ ...QUESTION, format })
      raw.pause()
      const request = await strict.upstream.arrival(index)
      await until(() => request.abortedAtMs !== undefined, 'the client to be dropped')
      // From the upstream to us and from us to the client.
      expect(request.sentBytes).toBeLessThan(2 * CONNECTION_BYTES_MAX + 16 * MEGABYTE)
      raw.resume()
      await raw.closed
      expect(Buffer.from(raw.received()).subarray(-5).toString()).not.toBe('0\r\n\r\n')
    })
    expect(receipts).toHaveLength(1)
    expect(receipts[0]).toMatchObject({ outcome: 'leaver', usageSource: 'estimated', inputTokens: 20, outputTokens: 32, waivedPicos: 0n })
  }
}, 180_000)

const sha256 = (bytes: Uint8Array | string): string => new Bun.CryptoHasher('sha256').update(bytes).digest('hex')

/** The answer of a stream of nearly ten megabytes. */
async function readInFits(question: Readonly<Record<string, unknown>>) {
  const raw = await stage.askRaw({ ...QUESTION, ...question })
  for (let n = 0; n < 12; n++) {
    raw.pause()
    await Bun.sleep(10)
    raw.resume()
    await Bun.sleep(1)
  }
  const answer = await raw.response(20_000)
  raw.reset()
  expect(await stage.receiptOf(answer.header('x-request-id') ?? '')).toMatchObject({ outcome: 'complete', usageSource: 'final' })
  return answer
}

test('a client that reads in fits and starts gets the same bytes', async () => {
  const pieces = [start, open, ...deltas(150), ...rest].map(String).map((piece) => piece.replace('upstream-model', 'vendor-sonnet-1'))
  stage.play(nativeStream(...pieces))
  const answer = await readInFits({})
  expect([answer.isComplete, sha256(answer.body)]).toEqual([true, sha256(pieces.join(''))])
}, 180_000)

test('the same client gets every letter of a translated answer, whose memory is used again while it reads', async () => {
  stage.play(nativeStream(start, open, ...deltas(150), ...rest))
  const answer = await readInFits({ format: 'chat' })
  const chunks = [
    ...Buffer.from(answer.body)
      .toString()
      .matchAll(/^data: (\{.*)$/gm),
  ].map(([, json = '']) => JSON.parse(json))
  const said = chunks.map((chunk) => chunk.choices[0].delta.content ?? '').join('')
  expect([answer.isComplete, sha256(said)]).toEqual([true, sha256(Array.from({ length: 150 }, (_, index) => `${index} ${TEXT}`).join(''))])
}, 180_000)

test('an event beyond all measure is a broken upstream, and does not fill the memory', async () => {
  stage.play(endlessStream(start, 'data: ', 'x'.repeat(64 * 1024)))
  const index = stage.upstream.requests.length
  const answer = await stage.ask(QUESTION)
  expect(
    (await answer.text()).endsWith('"message":"Service temporarily unavailable; retry later","details":{"type":"api_error"}}}\n\n'),
  ).toBe(true)
  expect(await stage.receiptOf(answer)).toMatchObject({ outcome: 'fault', costPicos: 0n })
  const request = await stage.upstream.arrival(index)
  await until(() => request.abortedAtMs !== undefined, 'the upstream to be let go')
  expect(request.sentBytes).toBeLessThan(CONNECTION_BYTES_MAX + 32 * MEGABYTE)
})
