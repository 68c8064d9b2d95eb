/** How an answer begins: what its status waits for, and what an upstream that is slow, strange or failing at the start comes out as. */

import { afterAll, expect, test } from 'bun:test'
import { constants, gzipSync } from 'node:zlib'
import {
  chunk,
  EVENT_STREAM,
  errorAnswer,
  frame,
  head,
  nativeMessage,
  nativeStream,
  type Script,
  textFrames,
} from '../support/fake-upstream.ts'
import { endOf, eventsOf, FORMATS, startStage, until } from '../support/stage.ts'

const stage = await startStage({ limits: { startTimeoutMs: 150 }, timings: { firstEventWaitMs: 60, heartbeatIdleMs: 40 } })
const { upstream, play, ask } = stage
afterAll(() => stage.stop())

const frames = textFrames('Good morning', { input_tokens: 20, output_tokens: 1 }, 9)
const [start = '', ...rest] = frames

test('a stream whose upstream is slow begins with its head and a comment, and goes on as if nothing had been', async () => {
  play([{ delayMs: 120 }, ...nativeStream(...frames)])
  for (const format of FORMATS) {
    const answer = await ask({ format, stream: true })
    const text = await answer.text()
    expect([format, answer.status, answer.headers.get('content-type'), text.startsWith(': ok\n\n')]).toEqual([
      format,
      200,
      'text/event-stream; charset=utf-8',
      true,
    ])
    expect(endOf(format, text)).toBe('complete')
    expect(await stage.receiptOf(answer)).toMatchObject({ outcome: 'complete', outputTokens: 9 })
  }
})

test('an upstream that fails after the head is told inside the stream, once, and costs nothing', async () => {
  const failures: readonly Script[] = [
    errorAnswer(529, ''),
    [{ reset: true }],
    nativeStream(frame('error', { error: { type: 'api_error' } })),
  ]
  for (const failure of failures) {
    play([{ delayMs: 120 }, ...failure])
    for (const format of FORMATS) {
      const answer = await ask({ format, stream: true })
      expect(answer.status).toBe(200)
      expect(endOf(format, await answer.text())).toMatchObject({ type: 'server_error' })
      expect(await stage.receiptOf(answer)).toBeUndefined()
    }
  }
})

test('an idle stream is kept alive in the words of its format, between frames only', async () => {
  const half = Math.floor(start.length / 2)
  const delta = rest[1] ?? ''
  play(
    nativeStream(
      start.slice(0, half),
      { delayMs: 150 },
      start.slice(half),
      rest[0] ?? '',
      delta.slice(0, 30),
      { delayMs: 150 },
      delta.slice(30),
      ...rest.slice(2),
    ),
  )
  const beats = { messages: 'event: ping\ndata: {"type": "ping"}\n\n', chat: ': keep-alive\n\n', responses: 'event: keepalive\n' }
  for (const format of FORMATS) {
    const text = await (await ask({ format, stream: true })).text()
    expect([format, text.split(beats[format]).length > 2]).toEqual([format, true])
    expect(endOf(format, text)).toBe('complete')
    const events = eventsOf(text)
    if (format === 'responses') expect(events.map(({ data }) => data['sequence_number'])).toEqual(events.map((_, index) => index))
  }
})

test('an upstream that answers a stream request with a whole message is streamed', async () => {
  const content = [
    { type: 'text', text: 'Good morning' },
    { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'the sky' } },
  ]
  const usage = { input_tokens: 20, output_tokens: 9 }
  play(
    nativeMessage({ id: 'msg_1', type: 'message', role: 'assistant', model: 'vendor-sonnet-1', content, stop_reason: 'tool_use', usage }),
  )
  for (const format of FORMATS) {
    const answer = await ask({ format, stream: true })
    const text = await answer.text()
    expect(answer.headers.get('content-type')).toContain('text/event-stream')
    expect(text).toContain('Good morning')
    expect(text).toContain('the sky')
    expect(endOf(format, text)).toBe('complete')
    expect(await stage.receiptOf(answer)).toMatchObject({ outcome: 'complete', usageSource: 'final', inputTokens: 20, outputTokens: 9 })
  }
})

test('an upstream that answers a whole request with a stream is broken: 502, and it is left', async () => {
  play(nativeStream(...frames.slice(0, 3), { stall: true }))
  for (const format of FORMATS) {
    const answer = await ask({ format })
    expect([format, answer.status]).toEqual([format, 502])
    await until(() => upstream.requests.at(-1)?.abortedAtMs !== undefined, 'the upstream to be left')
    expect(await stage.receiptOf(answer)).toBeUndefined()
  }
})

test('a whole answer that does not come within the start limit is 504, and the upstream is left', async () => {
  const late = [
    [{ stall: true }],
    [head(200, { 'content-type': 'application/json', 'content-length': '100' }), { bytes: '{' }, { stall: true }],
  ]
  for (const script of late as readonly Script[]) {
    play(script)
    for (const format of FORMATS) {
      const answer = await ask({ format })
      expect([format, answer.status]).toEqual([format, 504])
      expect(await answer.json()).toMatchObject({ error: { type: 'server_error', message: 'Service timed out; retry later' } })
      await until(() => upstream.requests.at(-1)?.abortedAtMs !== undefined, 'the upstream to be left')
      expect(await stage.receiptOf(answer)).toBeUndefined()
    }
  }
})

test('an error whose head came while the status waited has a status of its own, however its text drips', async () => {
  const patient = await startStage({ timings: { firstEventWaitMs: 800, errorTextWaitMs: 600 } })
  const text = JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message: 'sonnet cannot do that' } })
  const drip = (bytes: string, everyMs: number): Script => [...bytes].flatMap((byte) => [{ delayMs: everyMs }, { bytes: byte }])
  const error = (status: number, length: number): Script => [
    head(status, { 'content-type': 'application/json', 'content-length': String(length), 'retry-after': '7' }),
  ]
  const cases: readonly (readonly [what: string, script: Script, status: number, retryAfter: string | null])[] = [
    ['a head at once, a text without end', [...error(529, 1_000), ...drip('x'.repeat(300), 10), { stall: true }], 503, '7'],
    ['a late head, a text without end', [{ delayMs: 400 }, ...error(503, 1_000), ...drip('x'.repeat(300), 10)], 503, '7'],
    ['a late head and nothing after it', [{ delayMs: 400 }, ...error(529, 1_000), { stall: true }], 503, '7'],
    ['a text after the wait for a first event', [...error(400, text.length), { delayMs: 900 }, { bytes: text }], 400, null],
    ['a text in time', [...error(400, text.length), { delayMs: 300 }, { bytes: text }], 400, null],
  ]
  // The requests are told apart by their output cap.
  patient.play((request) => cases[(request.json() as { max_tokens: number }).max_tokens - 1]?.[1] ?? [])
  await Promise.all(
    cases.flatMap(([what, , status, retryAfter], index) =>
      FORMATS.map(async (format) => {
        const cap = { [format === 'responses' ? 'max_output_tokens' : 'max_tokens']: index + 1 }
        const answer = await patient.ask({ format, stream: true, more: cap })
        const told = [what, format, answer.status, answer.headers.get('retry-after')]
        expect(told).toEqual([what, format, status, retryAfter])
        expect(await answer.json()).toHaveProperty('error.message')
      }),
    ),
  )
  expect([patient.gateway.holds(), patient.gateway.receipts()]).toEqual([[], []])
  await patient.stop()
})

test('the times as they are: a status waits a second, and for the text of an error that began in it', async () => {
  const real = await startStage()
  const answer = [head(529, { 'content-type': 'application/json', 'content-length': '1000', 'retry-after': '7' }), { stall: true }] as const
  real.play([{ delayMs: 770 }, ...answer])
  const failed = await real.ask({ stream: true })
  expect([failed.status, failed.headers.get('retry-after')]).toEqual([503, '7'])
  await real.stop()
})

test('an error whose text never ends is answered all the same', async () => {
  play([
    head(429, { 'content-type': 'application/json', 'content-length': '1000', 'retry-after': '7' }),
    { bytes: '{"type"' },
    { stall: true },
  ])
  const answer = await ask({ format: 'messages', stream: true })
  const text = await answer.text()
  expect(endOf('messages', text)).toMatchObject({ message: 'Temporary provider issue on our side, retry in a minute' })
  expect(await stage.receiptOf(answer)).toBeUndefined()
})

test('a stream that is compressed although identity was asked for is read, and as it comes', async () => {
  const zipped = gzipSync(frames.join(''))
  const headers = { ...EVENT_STREAM, 'content-encoding': 'gzip', 'content-length': String(zipped.length) }
  play([head(200, headers), { bytes: zipped }])
  for (const format of FORMATS) {
    const answer = await ask({ format, stream: true })
    expect(answer.headers.get('content-encoding')).toBeNull()
    expect(endOf(format, await answer.text())).toBe('complete')
    expect(await stage.receiptOf(answer)).toMatchObject({ outcome: 'complete', outputTokens: 9 })
    expect(upstream.requests.at(-1)?.header('accept-encoding')).toBe('identity')
  }
  const flushed = gzipSync(frames.slice(0, 3).join(''), { finishFlush: constants.Z_SYNC_FLUSH })
  play([head(200, { ...EVENT_STREAM, 'content-encoding': 'gzip', 'transfer-encoding': 'chunked' }), chunk(flushed), { stall: true }])
  const raw = await stage.askRaw({ stream: true })
  await raw.until((bytes) => Buffer.from(bytes).includes('Good morning'))
  raw.reset()
  play([head(200, headers), { bytes: zipped.subarray(0, 10) }, { bytes: Buffer.alloc(zipped.length - 10, 7) }])
  const broken = await ask({ stream: true })
  expect(broken.status).toBe(502)
  expect(await stage.receiptOf(broken)).toBeUndefined()
})

test('a connection that the upstream closed while it was idle is tried once more on a fresh one, and charged once', async () => {
  play([{ delayMs: 40 }, ...nativeStream(...frames)])
  await Promise.all(Array.from({ length: 4 }, async () => (await ask({ stream: true })).text()))
  const opened = upstream.connectionsOpened()
  const before = upstream.requests.length
  play((request) => (request.connection < opened ? [{ reset: true }] : nativeStream(...frames)))
  const answer = await ask({ stream: true })
  expect(endOf('messages', await answer.text())).toBe('complete')
  expect(upstream.requests.slice(before)).toHaveLength(2)
  expect(await stage.receiptOf(answer)).toMatchObject({ outcome: 'complete' })
  play([{ reset: true }])
  const lost = upstream.requests.length
  expect((await ask({ stream: true })).status).toBe(502)
  expect(upstream.requests.slice(lost)).toHaveLength(2)
})

test('a connection to the upstream is used again after a complete answer', async () => {
  play(nativeStream(...frames))
  await (await ask({ stream: true })).text()
  const opened = upstream.connectionsOpened()
  for (let n = 0; n < 5; n++) {
    await (await ask({ stream: true, format: 'chat' })).text()
    await until(() => stage.gateway.holds().length === 0, 'the settle')
  }
  expect(upstream.connectionsOpened() - opened).toBeLessThanOrEqual(1)
})
