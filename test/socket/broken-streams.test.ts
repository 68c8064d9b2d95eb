/** An upstream that breaks, errs or falls silent inside a stream: when the answer counts as whole, what the client is told, what is charged and what waived. */

import { afterAll, expect, test } from 'bun:test'
import type { FormatName } from '../../src/core/format.ts'
import { frame, nativeStream, nativeStreamUntilClose, type Script, type StreamPiece, textFrames } from '../support/fake-upstream.ts'
import { endOf, FORMATS, startStage } from '../support/stage.ts'
import { until } from '../support/until.ts'

const UNAVAILABLE = { type: 'server_error', message: 'Service temporarily unavailable; retry later' }
const PROVIDER = { type: 'server_error', message: 'Temporary provider issue on our side, retry in a minute' }
const TIMED_OUT = { type: 'server_error', message: 'Service timed out; retry later' }

const stage = await startStage()
// Long enough for the first text on a busy machine, which is to come before the limit.
const brief = await startStage({ limits: { totalTimeoutMs: 2_000, stallTimeoutMs: 60_000 } })
const stalling = await startStage({ limits: { stallTimeoutMs: 300 } })
const patient = await startStage({ limits: { totalTimeoutMs: 150 }, timings: { firstEventWaitMs: 2_000 } })
/** Takes silence after the final figures for the end. */
const ending = await startStage({ timings: { terminalWaitMs: 60, heartbeatIdleMs: 30 }, limits: { stallTimeoutMs: 400 } })
afterAll(() => Promise.all([stage.stop(), brief.stop(), stalling.stop(), patient.stop(), ending.stop()]))

/** 20 input tokens, and 40 bytes of text: ten tokens by estimate. */
const TEXT = 'Forty bytes of text, no more and no less'
const [start = '', open = '', delta = '', close = '', stopReason = '', stop = ''] = textFrames(
  TEXT,
  { input_tokens: 20, output_tokens: 1 },
  9,
)
const PARTIAL = { inputTokens: 20, outputTokens: 10 }
const PRICE = 20n * 3_000_000n + 10n * 15_000_000n

const errorEvent = (type: string, message = 'internal text of org_internal'): string => frame('error', { error: { type, message } })

test('an error event inside a stream ends it with the error of its format, and is not charged', async () => {
  const invalid = { type: 'invalid_request_error', message: 'sonnet cannot do that' }
  const cases = {
    overloaded_error: PROVIDER,
    rate_limit_error: PROVIDER,
    authentication_error: PROVIDER,
    permission_error: PROVIDER,
    billing_error: PROVIDER,
    not_found_error: PROVIDER,
    timeout_error: TIMED_OUT,
    api_error: UNAVAILABLE,
    never_heard_of: UNAVAILABLE,
    invalid_request_error: invalid,
  }
  for (const [type, expected] of Object.entries(cases)) {
    stage.play(
      nativeStream(
        start,
        open,
        delta,
        errorEvent(type, type === 'invalid_request_error' ? 'vendor-sonnet-1 cannot do that' : undefined),
        stop,
      ),
    )
    for (const format of FORMATS) {
      const answer = await stage.ask({ format, stream: true })
      const text = await answer.text()
      expect(answer.status).toBe(200)
      expect(text).toContain(TEXT)
      expect(text).not.toContain('org_internal')
      const { message } = expected
      const told = format === 'responses' && expected === invalid ? { type: 'invalid_prompt', message } : expected
      expect([type, format, endOf(format, text)]).toEqual([type, format, told])
      expect(await stage.receiptOf(answer)).toMatchObject({ outcome: 'fault', costPicos: 0n, waivedPicos: PRICE, status: 200, ...PARTIAL })
    }
  }
})

test('an error as the first event has a status of its own', async () => {
  const statuses = { overloaded_error: 503, api_error: 502, timeout_error: 504, invalid_request_error: 400, request_too_large: 413 }
  for (const [type, status] of Object.entries(statuses)) {
    stage.play(nativeStream(errorEvent(type)))
    for (const format of FORMATS) {
      const answer = await stage.ask({ format, stream: true })
      expect([type, format, answer.status, answer.headers.get('content-type')]).toEqual([type, format, status, 'application/json'])
      expect(await answer.json()).toHaveProperty('error.type')
      expect(await stage.receiptOf(answer)).toBeUndefined()
    }
  }
})

/** What comes with its break in one piece may be lost with it; so a break waits until the client has seen what came before. */
let seen = Promise.withResolvers<void>()
const taken = (): readonly StreamPiece[] => [{ when: seen.promise }, { delayMs: 20 }]

/** Ways for an upstream to break off, as the last move of a script. */
const BREAKS: Readonly<Record<string, (...pieces: readonly StreamPiece[]) => Script>> = {
  'the last chunk without a terminal event': (...pieces) => nativeStream(...pieces),
  'a closed connection inside the chunks': (...pieces) => nativeStream(...pieces, ...taken(), { end: true }),
  'a closed connection without chunks': (...pieces) => nativeStreamUntilClose(...pieces),
  'a reset': (...pieces) => nativeStream(...pieces, ...taken(), { reset: true }),
  'half a frame and a reset': (...pieces) => nativeStream(...pieces, delta.slice(0, 50), ...taken(), { reset: true }),
  'half a frame': (...pieces) => nativeStream(...pieces, delta.slice(0, 50)),
}

/** The whole answer to a stream request; its upstream breaks once the text is here. */
async function askUntilBroken(format: FormatName, script: () => Script): Promise<{ answer: Response; text: string }> {
  seen = Promise.withResolvers()
  stage.play(script())
  const answer = await stage.ask({ format, stream: true })
  let text = ''
  for await (const piece of answer.body ?? []) {
    text += Buffer.from(piece).toString()
    if (text.includes(TEXT)) seen.resolve()
  }
  return { answer, text }
}

test('a stream that breaks off before its stop reason ends with an error, and is waived', async () => {
  for (const [what, broken] of Object.entries(BREAKS)) {
    for (const format of FORMATS) {
      const { answer, text } = await askUntilBroken(format, () => broken(start, open, delta))
      expect([what, format, endOf(format, text)]).toEqual([what, format, UNAVAILABLE])
      expect(await stage.receiptOf(answer)).toMatchObject({ outcome: 'fault', costPicos: 0n, waivedPicos: PRICE, ...PARTIAL })
    }
  }
})

test('a stream that breaks off before its first event is 502 without a receipt', async () => {
  for (const [what, broken] of Object.entries(BREAKS)) {
    seen.resolve()
    stage.play(broken())
    for (const format of FORMATS) {
      const answer = await stage.ask({ format, stream: true })
      expect([what, format, answer.status]).toEqual([what, format, 502])
      expect(await stage.receiptOf(answer)).toBeUndefined()
    }
  }
})

test('a stream that breaks off after its stop reason is complete and charged, however it broke', async () => {
  for (const [what, broken] of Object.entries(BREAKS)) {
    for (const format of FORMATS) {
      const { answer, text } = await askUntilBroken(format, () => broken(start, open, delta, close, stopReason))
      expect([what, format, endOf(format, text)]).toEqual([what, format, 'complete'])
      const costPicos = 20n * 3_000_000n + 9n * 15_000_000n
      expect(await stage.receiptOf(answer)).toMatchObject({ outcome: 'complete', usageSource: 'final', costPicos, waivedPicos: 0n })
    }
  }
})

/** A stop reason without figures: they may still be on their way. */
const bareStopReason = frame('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null } })

test('a stream that breaks off after a stop reason without figures is a fault; one that ends in order is complete, by estimate', async () => {
  const orderly = new Set(['the last chunk without a terminal event', 'a closed connection without chunks', 'half a frame'])
  for (const [what, broken] of Object.entries(BREAKS)) {
    for (const format of FORMATS) {
      const { answer, text } = await askUntilBroken(format, () => broken(start, open, delta, close, bareStopReason))
      const isWhole = orderly.has(what)
      expect([what, format, endOf(format, text)]).toEqual([what, format, isWhole ? 'complete' : UNAVAILABLE])
      const money = isWhole ? { costPicos: PRICE, waivedPicos: 0n } : { costPicos: 0n, waivedPicos: PRICE }
      const receipt = { outcome: isWhole ? 'complete' : 'fault', usageSource: 'estimated', ...PARTIAL, ...money }
      expect(await stage.receiptOf(answer)).toMatchObject(receipt)
    }
  }
})

test('silence after the stop reason and the figures is the end: complete, charged, with the terminal event', async () => {
  for (const last of [stopReason, bareStopReason + stopReason, stopReason + stop.slice(0, 20)]) {
    ending.play(nativeStream(start, open, delta, close, last, { stall: true }))
    for (const format of FORMATS) {
      const answer = await ending.ask({ format, stream: true })
      expect([format, endOf(format, await answer.text())]).toEqual([format, 'complete'])
      const costPicos = 20n * 3_000_000n + 9n * 15_000_000n
      expect(await ending.receiptOf(answer)).toMatchObject({ outcome: 'complete', usageSource: 'final', costPicos, waivedPicos: 0n })
      await until(() => ending.upstream.requests.at(-1)?.abortedAtMs !== undefined, 'the upstream to be left')
    }
  }
})

test('silence after a stop reason without figures is a stall, however long, and waived', async () => {
  ending.play(nativeStream(start, open, delta, close, bareStopReason, { stall: true }))
  for (const format of FORMATS) {
    const answer = await ending.ask({ format, stream: true })
    expect([format, endOf(format, await answer.text())]).toEqual([format, TIMED_OUT])
    expect(await ending.receiptOf(answer)).toMatchObject({ outcome: 'fault', costPicos: 0n, waivedPicos: PRICE })
  }
})

test('an upstream that falls silent is cut off at the stall limit, and waived', async () => {
  stalling.play(nativeStream(start, open, delta, { stall: true }))
  for (const format of FORMATS) {
    const answer = await stalling.ask({ format, stream: true })
    expect([format, endOf(format, await answer.text())]).toEqual([format, TIMED_OUT])
    expect(await stalling.receiptOf(answer)).toMatchObject({ outcome: 'fault', costPicos: 0n, waivedPicos: PRICE })
    expect(stalling.gateway.logLines().at(-1)).toMatchObject({ outcome: 'fault', cause: 'stall', upstream: 'upstream-0' })
    await until(() => stalling.upstream.requests.at(-1)?.abortedAtMs !== undefined, 'the upstream to be left')
  }
})

test('an upstream that never ends is cut at the total limit: the error of the limit, charged as far as it came', async () => {
  const drops = Array.from({ length: 300 }, (): readonly StreamPiece[] => [delta, { delayMs: 10 }]).flat()
  for (const pieces of [drops, [delta, { stall: true }] as const]) {
    brief.play(nativeStream(start, open, ...pieces))
    const cut = async (format: FormatName): Promise<void> => {
      const answer = await brief.ask({ format, stream: true })
      expect([format, endOf(format, await answer.text())]).toEqual([format, TIMED_OUT])
      const receipt = await brief.receiptOf(answer)
      expect(receipt).toMatchObject({ outcome: 'deadline', usageSource: 'estimated', waivedPicos: 0n, inputTokens: 20 })
      expect(receipt?.outputTokens).toBeGreaterThanOrEqual(10)
    }
    await Promise.all(FORMATS.map(cut))
    await until(() => brief.upstream.requests.every(({ abortedAtMs }) => abortedAtMs !== undefined), 'the upstream to be left')
  }
})

test('a time limit before the first event is 504 without a receipt, streamed or whole', async () => {
  for (const [script, kinds] of [
    [[{ stall: true }], [true, false]],
    [nativeStream({ stall: true }), [true]],
  ] as const) {
    patient.play(script)
    for (const format of FORMATS) {
      for (const streamed of kinds) {
        const answer = await patient.ask({ format, stream: streamed })
        expect([format, streamed, answer.status]).toEqual([format, streamed, 504])
        await answer.text()
        expect(await patient.receiptOf(answer)).toBeUndefined()
      }
    }
  }
})

test('a stream where a whole answer was asked for is 502 at once, whatever comes of it', async () => {
  stage.play(nativeStream({ stall: true }))
  for (const format of FORMATS) {
    const answer = await stage.ask({ format })
    expect([format, answer.status]).toEqual([format, 502])
    await answer.text()
    expect(await stage.receiptOf(answer)).toBeUndefined()
  }
})
