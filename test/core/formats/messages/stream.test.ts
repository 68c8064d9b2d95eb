/**
 * A native stream goes on frame by frame in its own bytes, ends in one terminal event, and shows what is billed. Rules: messages.md "Pass-through",
 * "Error events".
 */

import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Model } from '../../../../src/core/catalog.ts'
import { MessagesTranscoder } from '../../../../src/core/formats/messages/stream.ts'
import type { Dialect } from '../../../../src/core/native/event.ts'
import { REFUSALS, Refusal, type RefusalName } from '../../../../src/core/refusal.ts'
import { cuts, splitsInTwo } from '../../../support/chunks.ts'
import { expectGolden, GOLDEN_BOUNDS, GOLDEN_MODEL, streamCases } from '../../../support/golden.ts'

/** The public id is the upstream's: nothing to rename. */
const SAME_NAME: Model = { ...GOLDEN_MODEL, id: GOLDEN_MODEL.upstreamModel }

type Relayed = { text: string; last: string; fault: Refusal | undefined; transcoder: MessagesTranscoder }

/** Between two pushes a heartbeat may be written. */
const WHOLE_FRAMES = /^$|(?:\r\n|\n|\r){2}$/

/** Plays a stream as the relay does: `now` at once, then `last`, or the error. */
function relay(chunks: readonly Uint8Array[], model: Model, dialect: Dialect = 'vendor'): Relayed {
  const transcoder = new MessagesTranscoder(model, GOLDEN_BOUNDS)
  transcoder.hears(dialect)
  const sent: Uint8Array[] = []
  for (const chunk of [...chunks, undefined]) {
    const { now, last, fault } = chunk === undefined ? transcoder.end('ended') : transcoder.push(chunk)
    if (now !== undefined) expect(Buffer.from(now).toString('latin1')).toMatch(WHOLE_FRAMES)
    if (now !== undefined) sent.push(now)
    const ending = last ?? (fault && transcoder.fail(fault))
    if (ending === undefined) continue
    const text = Buffer.concat([...sent, ending]).toString('utf8')
    return { text, last: Buffer.from(last ?? []).toString('utf8'), fault, transcoder }
  }
  throw new Error('the stream never ended')
}

const sha256 = (bytes: string | Uint8Array): string => new Bun.CryptoHasher('sha256').update(bytes).digest('hex')

describe('frames are relayed byte for byte but for what an upstream got wrong', () => {
  for (const { name, folder, native, usage } of streamCases()) {
    test(name, () => {
      const original = Buffer.from(native).toString('utf8')
      const whole = relay([native], SAME_NAME)
      if (whole.text !== original || existsSync(join(folder, 'messages.sse'))) {
        expectGolden(folder, 'messages.sse', whole.text)
        expect(whole.text, 'messages.sse is only for what differs from native.sse').not.toBe(original)
      } else expect(sha256(whole.text)).toBe(sha256(native))
      expect(whole.fault?.name ?? 'complete').toBe(usage.end)
      const check = (chunks: readonly Uint8Array[], how: string): void => expect(relay(chunks, SAME_NAME).text, how).toBe(whole.text)
      for (const [how, chunks] of cuts(native)) check(chunks, how)
      if (native.length < 1500) for (const chunks of splitsInTwo(native)) check(chunks, `cut at ${chunks[0]?.length}`)
    })
  }
})

const COUNTERS = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'] as const
type NativeUsage = Partial<Record<(typeof COUNTERS)[number], unknown>> & { iterations?: (Record<string, unknown> & { type: string })[] }

/** What a client adds up: the newest figure of each counter, the iterations that they leave out, and the last stop reason. */
function fold(text: string): { counters: Record<string, number>; stopReason: string | null; types: string[] } {
  const counters: Record<string, number> = {}
  let stopReason: string | null = null
  let iterations: NonNullable<NativeUsage['iterations']> = []
  const types: string[] = []
  for (const frame of text.replaceAll(/\r\n|\r/g, '\n').split(/\n\n+/)) {
    const lines = frame.split('\n').filter((line) => line.startsWith('data:'))
    if (lines.length === 0) continue
    const data = lines.map((line) => line.slice(5)).join('\n')
    const event = /^event: ?(.*)$/m.exec(frame)?.[1]
    if (data.trim() === '') continue
    const body = JSON.parse(data)
    expect(event).toBe(body.type ?? event)
    types.push(event ?? '')
    const usage: NativeUsage = body.message?.usage ?? body.usage ?? {}
    for (const counter of COUNTERS) if (typeof usage[counter] === 'number') counters[counter] = usage[counter]
    iterations = usage.iterations ?? iterations
    stopReason = body.delta?.stop_reason ?? stopReason
  }
  for (const iteration of iterations.filter(({ type }) => type === 'compaction'))
    for (const counter of COUNTERS) counters[counter] = (counters[counter] ?? 0) + Number(iteration[counter] ?? 0)
  return { counters, stopReason, types }
}

test('what the client is shown is what is billed, in every complete golden stream', () => {
  for (const { name, native, usage } of streamCases()) {
    if (usage.end !== 'complete') continue
    const { counters, stopReason } = fold(relay([native], GOLDEN_MODEL).text)
    const { input, output, cacheRead, cacheWrite5m, cacheWrite1h } = usage.usage
    expect({ name, ...counters }).toMatchObject({ name, input_tokens: input, output_tokens: output, cache_read_input_tokens: cacheRead })
    expect({ name, ...counters }).toMatchObject({ name, cache_creation_input_tokens: cacheWrite5m + cacheWrite1h })
    expect(stopReason).toBe(usage.stopReason)
  }
})

test('a compaction reaches native clients in the upstream’s own bytes, and so do cache writes that move', () => {
  for (const { name, native } of streamCases().filter((known) => /^usage-(compaction|iterations|writes)/.test(known.name)))
    expect([name, relay([native], SAME_NAME).text]).toEqual([name, Buffer.from(native).toString('utf8')])
})

test('every stream ends in exactly one terminal event, and it alone waits for the settle', () => {
  for (const { name, native, usage } of streamCases()) {
    for (const [how, chunks] of cuts(native)) {
      const { text, last, fault } = relay(chunks, GOLDEN_MODEL)
      const { types } = fold(text)
      const terminal = usage.end === 'complete' ? 'message_stop' : 'error'
      expect(
        types.filter((type) => type === 'message_stop' || type === 'error'),
        `${name}, ${how}`,
      ).toEqual([terminal])
      expect(types.at(-1)).toBe(terminal)
      if (fault === undefined) expect(fold(last).types).toEqual(['message_stop'])
    }
  }
})

test('an alias changes the model of message_start and no other byte', () => {
  for (const { name, native, usage } of streamCases()) {
    if (usage.end !== 'complete' || name === 'start-missing') continue
    const renamed = relay([native], GOLDEN_MODEL).text
    const plain = relay([native], SAME_NAME).text
    expect(renamed).toContain(`"model":"${GOLDEN_MODEL.id}"`)
    if (name !== 'sse-data-over-several-lines')
      expect(renamed).toBe(plain.replaceAll(`"model":"${GOLDEN_MODEL.upstreamModel}"`, `"model":"${GOLDEN_MODEL.id}"`))
  }
})

test('where both have one name and the upstream answers with a snapshot of it, every event says the name that the client asked for', () => {
  const asked: Model = { ...GOLDEN_MODEL, upstreamModel: GOLDEN_MODEL.id }
  const usage = '"usage":{"input_tokens":5,"output_tokens":1,"cache_creation_input_tokens":0,"cache_read_input_tokens":0'
  const text = (name: string): string =>
    writeFrames(
      `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":${name},"content":[],${usage}}}}`,
      '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\"stella-2-20260301\\""}}',
      `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},${usage},"iterations":[{"type":"message","model":${name}}]}}`,
      '{"type":"message_stop"}',
    )
  const native = Buffer.from(text('"stella-2-20260301"'))
  for (const [how, chunks] of cuts(native)) expect(relay(chunks, asked).text, how).toBe(text('"stella-2"'))

  const same = Buffer.from(text('"stella-2"'))
  const { now } = new MessagesTranscoder(asked, GOLDEN_BOUNDS).push(same)
  expect(now?.buffer, 'nothing to rename leaves as the very same bytes').toBe(same.buffer)
})

test('a block that tells of a fallback names no model of the upstream, nor does the usage of it', () => {
  const usage = '"usage":{"input_tokens":5,"output_tokens":1,"cache_creation_input_tokens":0,"cache_read_input_tokens":0'
  const text = (model: string, to: string): string =>
    writeFrames(
      `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":${model},"content":[],${usage}}}}`,
      `{"type":"content_block_start","index":0,"content_block":{"type":"fallback","from":{"model":${model}},"to":{"model": ${to}}}}`,
      '{"type":"content_block_stop","index":0}',
      '{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"\\"opal-1\\""}}',
      `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},${usage},"iterations":[{"type":"fallback_message","model":${to}}]}}`,
      '{"type":"message_stop"}',
    )
  const native = Buffer.from(text('"stella-2-20260301"', '"opal-1"'))
  for (const [how, chunks] of cuts(native)) expect(relay(chunks, GOLDEN_MODEL).text, how).toBe(text('"stella-2"', '"stella-2"'))
})

const writeFrames = (...events: string[]): string => events.map((data) => `event: ${JSON.parse(data).type}\ndata: ${data}\n\n`).join('')

const golden = (name: string): Uint8Array => streamCases().find((known) => known.name === name)?.native ?? new Uint8Array()

test('a chunk of whole frames leaves as the very same bytes, and its parts are views of them', () => {
  const stream = golden('text')
  const stopAt = Buffer.from(stream).indexOf('event: message_stop')
  const transcoder = new MessagesTranscoder(SAME_NAME, GOLDEN_BOUNDS)
  const deltas = stream.slice(0, stopAt)
  expect(transcoder.push(deltas).now).toBe(deltas)
  const stop = stream.slice(stopAt)
  expect(transcoder.push(stop)).toEqual({ last: stop })

  const both = new MessagesTranscoder(SAME_NAME, GOLDEN_BOUNDS).push(stream)
  expect(both.now?.buffer).toBe(stream.buffer)
  expect(both.last?.buffer).toBe(stream.buffer)
})

test('content never waits for the end: what a chunk holds before message_stop is in `now`', () => {
  const { now, last } = new MessagesTranscoder(GOLDEN_MODEL, GOLDEN_BOUNDS).push(golden('text'))
  expect(Buffer.from(now ?? []).toString()).toContain('by one.')
  expect(Buffer.from(last ?? []).toString()).toBe('event: message_stop\ndata: {"type":"message_stop"}\n\n')
})

test('an end after a stop reason gets the terminal event that the upstream forgot', () => {
  const { text, fault } = relay([golden('cut-after-stop-reason')], GOLDEN_MODEL)
  expect(fault).toBeUndefined()
  expect(text).toEndWith('event: message_stop\ndata: {"type":"message_stop"}\n\n')
})

test('a terminal event whose blank line is missing or cut gets exactly one', () => {
  const native = golden('text')
  const whole = relay([native], SAME_NAME).text
  for (const missing of [1, 2]) expect(relay([native.subarray(0, -missing)], SAME_NAME).text, `${missing} bytes`).toBe(whole)
})

test('an end before a stop reason is an error event, never a quiet end', () => {
  const { text, fault } = relay([golden('cut-after-text')], GOLDEN_MODEL)
  expect(fault?.name).toBe('upstreamBroken')
  expect(text).toEndWith(
    'event: error\ndata: {"type":"error","error":{"type":"server_error","message":"Service temporarily unavailable; retry later","details":{"type":"api_error"}}}\n\n',
  )
})

test('an error event that may be retried also has the type by which native clients decide to retry; one that must not, has none', () => {
  const nativeTypeOf = (name: RefusalName): unknown => {
    const text = Buffer.from(new MessagesTranscoder(GOLDEN_MODEL, GOLDEN_BOUNDS).fail(new Refusal(name))).toString()
    const { error, ...rest } = JSON.parse(/^event: error\ndata: (.*)\n\n$/.exec(text)?.[1] ?? '')
    const { details, ...spoken } = error
    expect(rest).toEqual({ type: 'error' })
    expect(spoken).toMatchObject({ type: REFUSALS[name].type, message: REFUSALS[name].message })
    return details?.type
  }
  for (const name of ['upstreamBusy', 'upstreamAccount', 'overloaded', 'storageUnavailable', 'draining'] as const)
    expect([name, nativeTypeOf(name)]).toEqual([name, 'overloaded_error'])
  for (const name of ['upstreamBroken', 'internal'] as const) expect([name, nativeTypeOf(name)]).toEqual([name, 'api_error'])
  expect(nativeTypeOf('timedOut')).toBe('timeout_error')
  for (const name of Object.keys(REFUSALS) as RefusalName[])
    if (!REFUSALS[name].isRetryable) expect([name, nativeTypeOf(name)]).toEqual([name, undefined])
    else if (REFUSALS[name].status >= 500) expect([name, nativeTypeOf(name)]).toEqual([name, expect.any(String)])
})

test("an error names our model, not the upstream's", () => {
  const { text } = relay([golden('error-invalid-request')], GOLDEN_MODEL)
  expect(text).toEndWith('"error":{"type":"invalid_request_error","message":"messages.0: too long for stella-2"}}\n\n')
})

test('an event without an end is a fault before it fills the memory', () => {
  const transcoder = new MessagesTranscoder(GOLDEN_MODEL, GOLDEN_BOUNDS)
  const piece = new Uint8Array(1024 * 1024).fill(0x61)
  const pushed = Array.from({ length: 9 }, () => transcoder.push(piece))
  expect(pushed.findIndex(({ fault }) => fault instanceof Refusal)).toBe(8)
})

test('a heartbeat is the native ping', () => {
  const transcoder = new MessagesTranscoder(GOLDEN_MODEL, GOLDEN_BOUNDS)
  expect(Buffer.from(transcoder.heartbeat()).toString()).toBe('event: ping\ndata: {"type": "ping"}\n\n')
})

test('an event line cannot be smuggled in by the type of an event', () => {
  const frame = 'data: {"type":"x\\nevent: message_stop\\ndata: {}\\n"}\n\n'
  const transcoder = new MessagesTranscoder(GOLDEN_MODEL, GOLDEN_BOUNDS)
  transcoder.hears('vendor')
  expect(Buffer.from(transcoder.push(Buffer.from(frame)).now ?? []).toString()).toBe(frame)
})

describe('events that the format does not have', () => {
  const [start = '', open = '', delta = ''] = Buffer.from(streamCases().find(({ name }) => name === 'text')?.native ?? [])
    .toString()
    .split(/(?<=\n\n)/)
  const begin = `${start}${open}${delta}`
  const end =
    'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":11}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n'
  const news = [
    'event: vibe_check\ndata: {"type":"vibe_check","mood":"calm"}\n\n',
    'event: future_event\ndata: {"payload":1}\n\n',
    'data: {"type":"vibe"}\n\n',
  ]

  test('of the vendor are passed on, of another server they are left out; both bill and end alike', () => {
    for (const frame of news) {
      const relayed = (dialect: Dialect) => relay([Buffer.from(begin + frame + end)], SAME_NAME, dialect).text
      expect(relayed('vendor')).toContain(frame.split('data: ')[1] ?? '')
      expect(relayed('strict')).toBe(begin + end)
    }
  })

  test('an error under another name, or none, ends the stream without its words', () => {
    for (const [frame, name] of [
      ['event: error\ndata: {"code":500,"message":"slot at 10.0.0.7 died","type":"server_error"}\n\n', 'upstreamBroken'],
      ['data: {"code":503,"message":"slot at 10.0.0.7 died","type":"unavailable_error"}\n\n', 'upstreamBusy'],
      ['event: server_error\ndata: {"message":"slot at 10.0.0.7 died"}\n\n', 'upstreamBroken'],
      ['data: {"error":"slot at 10.0.0.7 died"}\n\n', 'upstreamBroken'],
      ['event: note\ndata: {"type":"note","error":{"message":"slot at 10.0.0.7 died","code":429}}\n\n', 'upstreamBusy'],
    ] as const) {
      const { text, fault } = relay([Buffer.from(begin + frame)], SAME_NAME, 'strict')
      expect([fault?.name, text.includes('10.0.0.7'), text.includes('server_error"')], frame).toEqual([name, false, true])
      expect(text.slice(begin.length)).toStartWith('event: error\ndata: {"type":"error"')
    }
  })
})
