/** An upstream that says it read or wrote nothing makes nobody's answer free: the figure is estimated, shown as it is billed, counted and noticed. */

import { afterAll, expect, test } from 'bun:test'
import type { FormatName } from '../../src/core/format.ts'
import { costOf } from '../../src/core/pricing.ts'
import { frame, nativeMessage, nativeStream, type Script } from '../support/fake-upstream.ts'
import { eventsOf, FORMATS, startStage } from '../support/stage.ts'
import { until } from '../support/until.ts'
import { makeTestModel } from '../support/world.ts'

const stage = await startStage({ timings: { leaverGraceMs: 60, firstEventWaitMs: 20 } })
const { gateway, upstream, play, ask, askRaw } = stage
afterAll(() => stage.stop())

const { rates } = makeTestModel()
/** Forty bytes: ten tokens by estimate. */
const TEXT = 'Forty bytes of text, no more and no less'
const ZERO = { input_tokens: 0, output_tokens: 0 }
const HEAD = { id: 'msg_1', type: 'message', role: 'assistant', model: 'x', stop_sequence: null }
/** A prompt of some size: a token of it is four bytes. */
const PROMPT = 'word '.repeat(2_000)
const asked = (format: FormatName, stream: boolean) => ({
  format,
  stream,
  more: format === 'responses' ? { input: PROMPT } : { messages: [{ role: 'user', content: PROMPT }] },
})

/** What stands in the usage at the beginning and at the end. */
const streamed = (first: unknown, last: unknown, ...more: readonly (Script[number] | string)[]): Script =>
  nativeStream(
    frame('message_start', { message: { ...HEAD, content: [], stop_reason: null, usage: first } }),
    frame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    frame('content_block_delta', { index: 0, delta: { type: 'text_delta', text: TEXT } }),
    ...more,
    frame('content_block_stop', { index: 0 }),
    frame('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: last }),
    frame('message_stop', {}),
  )
const whole = (usage: unknown): Script =>
  nativeMessage({ ...HEAD, content: [{ type: 'text', text: TEXT }], stop_reason: 'end_turn', usage })

/** Input and output as a client of the format adds them up. */
function shown(format: FormatName, stream: boolean, text: string): { input: number; output: number } {
  const usages = (stream ? eventsOf(text).map(({ data }) => data) : [JSON.parse(text)]).flatMap((data: Record<string, unknown>) => {
    const inner = (data['response'] ?? data['message'] ?? data) as Record<string, unknown>
    return (inner['usage'] ?? undefined) === undefined ? [] : [inner['usage'] as Record<string, number>]
  })
  const last = (names: readonly string[]): number =>
    usages.findLast((usage) => names.some((name) => name in usage))?.[names[0] ?? ''] ?? Number.NaN
  return format === 'chat'
    ? { input: last(['prompt_tokens']), output: last(['completion_tokens']) }
    : { input: last(['input_tokens']), output: last(['output_tokens']) }
}

const disbelieved = async (): Promise<number> => {
  const line = (await gateway.world.metrics.render()).split('\n').find((text) => text.startsWith('tollgate_implausible_usage_total{'))
  return line === undefined ? 0 : Number(line.split(' ').at(-1))
}

test('zeros of a whole answer and of a stream are estimated, on all formats, and shown as they are billed', async () => {
  for (const format of FORMATS) {
    for (const stream of [false, true]) {
      const before = await disbelieved()
      play(stream ? streamed(ZERO, ZERO) : whole(ZERO))
      const answer = await ask(asked(format, stream))
      const text = await answer.text()
      const receipt = await stage.receiptOf(answer)
      const bodyBytes = upstream.requests.at(-1)?.body.length ?? 0
      const usage = { input: Math.floor(bodyBytes / 4), output: 10 }
      expect([format, stream, shown(format, stream, text)]).toEqual([format, stream, usage])
      expect(receipt).toMatchObject({ usageSource: 'estimated', inputTokens: usage.input, outputTokens: 10, outcome: 'complete' })
      const price = costOf({ ...usage, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0, serverToolUses: 0 }, rates)
      expect(receipt?.costPicos).toBe(price)
      expect(await disbelieved()).toBe(before + 1)
    }
  }
})

test('zeros at the beginning with the truth at the end are believed at the end, and nothing is said of it', async () => {
  const before = await disbelieved()
  for (const format of FORMATS) {
    play(streamed(ZERO, { input_tokens: 2_500, output_tokens: 11 }))
    const answer = await ask(asked(format, true))
    expect([format, shown(format, true, await answer.text())]).toEqual([format, { input: 2_500, output: 11 }])
    expect(await stage.receiptOf(answer)).toMatchObject({ usageSource: 'final', inputTokens: 2_500, outputTokens: 11 })
  }
  expect(await disbelieved()).toBe(before)
})

test('who leaves behind such a beginning pays the estimate of what was read, not nothing', async () => {
  for (const format of FORMATS) {
    const before = await disbelieved()
    play(streamed(ZERO, { input_tokens: 2_500, output_tokens: 11 }, { stall: true }))
    const index = upstream.requests.length
    const receipts = await stage.receiptsOf(async () => {
      const raw = await askRaw(asked(format, true))
      const request = await upstream.arrival(index)
      await raw.until((bytes) => Buffer.from(bytes).includes('Forty bytes'))
      raw.reset()
      await until(() => request.abortedAtMs !== undefined, 'the upstream to be let go')
    })
    const input = Math.floor((upstream.requests[index]?.body.length ?? 0) / 4)
    expect(receipts).toMatchObject([{ outcome: 'leaver', usageSource: 'estimated', inputTokens: input, outputTokens: 10 }])
    expect(await disbelieved()).toBe(before + 1)
  }
})

test('who leaves a whole answer with such figures pays its estimate, once it is there', async () => {
  for (const format of FORMATS) {
    const before = await disbelieved()
    const left = Promise.withResolvers<void>()
    play([{ when: left.promise }, ...whole(ZERO)])
    const index = upstream.requests.length
    const receipts = await stage.receiptsOf(async () => {
      const raw = await askRaw(asked(format, false))
      await upstream.arrival(index)
      raw.reset()
      left.resolve()
    })
    const input = Math.floor((upstream.requests[index]?.body.length ?? 0) / 4)
    expect(receipts).toMatchObject([{ usageSource: 'estimated', inputTokens: input, outputTokens: 10 }])
    expect(await disbelieved()).toBe(before + 1)
  }
})

test('the operator reads it once a minute with the name of the upstream, however often it happens', async () => {
  const notices = gateway.logLines().filter(({ notice }) => String(notice).includes('cannot be true'))
  expect(notices).toMatchObject([{ upstream: 'upstream-0', count: 1 }])
  expect(await disbelieved()).toBeGreaterThan(1)
})
