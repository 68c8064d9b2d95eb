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
import { endOf, eventsOf, FORMATS, startStage } from '../support/stage.ts'
import { undisturbed, until } from '../support/until.ts'

const stage = await startStage({ timings: { firstEventWaitMs: 60, heartbeatIdleMs: 40 } })
const hasty = await startStage({ limits: { startTimeoutMs: 150 } })
/** Whose statuses wait for what a busy machine does late. */
const patient = await startStage({ timings: { firstEventWaitMs: 30_000 } })
const { upstream, play, ask } = stage
afterAll(() => Promise.all([stage.stop(), hasty.stop(), patient.stop()]))

const frames = textFrames('Good morning', { input_tokens: 20, output_tokens: 1 }, 9)
const [start = '', ...rest] = frames

test('a stream whose upstream is slow begins with its head and a comment, and goes on as if nothing had been', async () => {
  for (const format of FORMATS) {
    const begun = Promise.withResolvers<void>()
    play([{ when: begun.promise }, ...nativeStream(...frames)])
    const answer = await ask({ format, stream: true })
    begun.resolve()
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
    for (const format of FORMATS) {
      const begun = Promise.withResolvers<void>()
      play([{ when: begun.promise }, ...failure])
      const answer = await ask({ format, stream: true })
      begun.resolve()
      expect(answer.status).toBe(200)
      expect(endOf(format, await answer.text())).toMatchObject({ type: 'server_error' })
      expect(await stage.receiptOf(answer)).toBeUndefined()
    }
  }
})

test('an idle stream is kept alive in the words of its format, between frames only', async () => {
  const half = Math.floor(start.length / 2)
  const delta = rest[1] ?? ''
  const between = { messages: 'content_block_start', chat: '"role":"assistant"', responses: 'response.output_item.added' }
  const ping = 'event: ping\ndata: {"type": "ping"}\n\n'
  const comment = ': keep-alive\n\n'
  /** In the first silence, before the format has begun, and in the second. */
  const beats = { messages: [ping, ping], chat: [comment, comment], responses: [comment, 'event: keepalive\n'] } as const
  for (const format of FORMATS) {
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    play(
      nativeStream(
        start.slice(0, half),
        { when: first.promise },
        start.slice(half),
        rest[0] ?? '',
        delta.slice(0, 30),
        { when: second.promise },
        delta.slice(30),
        ...rest.slice(2),
      ),
    )
    let text = ''
    for await (const piece of (await ask({ format, stream: true })).body ?? []) {
      text += Buffer.from(piece).toString()
      if (text.includes(beats[format][0])) first.resolve()
      const begun = text.lastIndexOf(between[format])
      if (begun !== -1 && text.includes(beats[format][1], begun)) second.resolve()
    }
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
    hasty.play(script)
    for (const format of FORMATS) {
      const answer = await hasty.ask({ format })
      expect([format, answer.status]).toEqual([format, 504])
      expect(await answer.json()).toMatchObject({ error: { type: 'server_error', message: 'Service timed out; retry later' } })
      await until(() => hasty.upstream.requests.at(-1)?.abortedAtMs !== undefined, 'the upstream to be left')
      expect(await hasty.receiptOf(answer)).toBeUndefined()
    }
  }
})

test('an error whose head came while the status waited has a status of its own, however its text drips', async () => {
  const text = JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message: 'sonnet cannot do that' } })
  const drip = (bytes: string, everyMs: number): Script => [...bytes].flatMap((byte) => [{ delayMs: everyMs }, { bytes: byte }])
  const error = (status: number, length: number): Script => [
    head(status, { 'content-type': 'application/json', 'content-length': String(length), 'retry-after': '7' }),
  ]
  const cases: readonly (readonly [what: string, script: Script, status: number, retryAfter: string | null])[] = [
    ['a head at once, a text without end', [...error(529, 1_000), ...drip('x'.repeat(300), 10), { stall: true }], 503, '7'],
    ['a late head, a text without end', [{ delayMs: 300 }, ...error(503, 1_000), ...drip('x'.repeat(300), 10)], 503, '7'],
    ['a late head and nothing after it', [{ delayMs: 300 }, ...error(529, 1_000), { stall: true }], 503, '7'],
    ['a text after the wait for a first event', [...error(400, text.length), { delayMs: 750 }, { bytes: text }], 400, null],
    ['a text in time', [...error(400, text.length), { delayMs: 200 }, { bytes: text }], 400, null],
  ]
  const told = await undisturbed(150, async () => {
    await using patient = await startStage({ timings: { firstEventWaitMs: 600, errorTextWaitMs: 600 } })
    // The requests are told apart by their output cap.
    patient.play((request) => cases[(request.json() as { max_tokens: number }).max_tokens - 1]?.[1] ?? [])
    const answers = cases.flatMap(([what], index) =>
      FORMATS.map(async (format) => {
        const cap = { [format === 'responses' ? 'max_output_tokens' : 'max_tokens']: index + 1 }
        const answer = await patient.ask({ format, stream: true, more: cap })
        return [what, format, answer.status, answer.headers.get('retry-after'), await answer.text()] as const
      }),
    )
    const all = await Promise.all(answers)
    expect([patient.gateway.holds(), patient.gateway.receipts()]).toEqual([[], []])
    return all
  })
  const expected = cases.flatMap(([what, , ...status]) => FORMATS.map((format) => [what, format, ...status]))
  expect(told.map((one) => one.slice(0, -1))).toEqual(expected)
  for (const one of told) expect(JSON.parse(one[4])).toHaveProperty('error.message')
})

test('the times as they are: a status waits a second, and for the text of an error that began in it', async () => {
  await using real = await startStage()
  const answer = [head(529, { 'content-type': 'application/json', 'content-length': '1000', 'retry-after': '7' }), { stall: true }] as const
  real.play([{ delayMs: 770 }, ...answer])
  const failed = await undisturbed(100, async () => {
    const failure = await real.ask({ stream: true })
    await failure.text()
    return [failure.status, failure.headers.get('retry-after')]
  })
  expect(failed).toEqual([503, '7'])
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
  patient.play([head(200, headers), { bytes: zipped.subarray(0, 10) }, { bytes: Buffer.alloc(zipped.length - 10, 7) }])
  const broken = await patient.ask({ stream: true })
  expect(broken.status).toBe(502)
  expect(await patient.receiptOf(broken)).toBeUndefined()
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
