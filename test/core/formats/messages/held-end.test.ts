/** A stream whose client asks for its cost says it in the last message_delta, which waits for the settle; nothing else of it changes. Rules: requests.md "Cost of an answer". */

import { describe, expect, test } from 'bun:test'
import { MessagesTranscoder } from '../../../../src/core/formats/messages/stream.ts'
import { toExactUsdText, toUsd } from '../../../../src/core/money.ts'
import { costOf } from '../../../../src/core/pricing.ts'
import { Refusal } from '../../../../src/core/refusal.ts'
import { cuts } from '../../../support/chunks.ts'
import { GOLDEN_BOUNDS, GOLDEN_MODEL, streamCases } from '../../../support/golden.ts'
import { eventsOf } from '../../../support/stage.ts'

type Sent = Readonly<{ now: string; last: string | undefined; fault: Refusal | undefined }>

function relay(chunks: readonly Uint8Array[], includesCost: boolean): Sent {
  const transcoder = new MessagesTranscoder(GOLDEN_MODEL, GOLDEN_BOUNDS, includesCost)
  let now = ''
  for (const chunk of [...chunks, undefined]) {
    const pushed = chunk === undefined ? transcoder.end('ended') : transcoder.push(chunk)
    now += Buffer.from(pushed.now ?? []).toString('utf8')
    if (pushed.last !== undefined || pushed.fault !== undefined)
      return { now, last: pushed.last && Buffer.from(pushed.last).toString('utf8'), fault: pushed.fault }
  }
  throw new Error('the stream never ended')
}

type Usage = Record<string, unknown>
/** Frames in any of the line ends, as their events; the cost of each usage is taken out. */
function read(text: string): { events: readonly unknown[]; costs: readonly Usage[] } {
  const costs: Usage[] = []
  const events = text
    .replaceAll(/\r\n|\r/g, '\n')
    .split(/\n\n+/)
    .flatMap((frame) => {
      const data = frame
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5))
        .join('\n')
      if (data.trim() === '') return []
      const body = JSON.parse(data) as { type: string; usage?: Usage }
      if (body.usage !== undefined && 'cost_usd' in body.usage) {
        const { cost_usd, cost_usd_exact, ...usage } = body.usage
        costs.push({ type: body.type, cost_usd, cost_usd_exact })
        return [{ ...body, usage }]
      }
      return [body]
    })
  return { events, costs }
}

describe('with the cost a stream is the same but for it', () => {
  for (const { name, native, usage } of streamCases()) {
    test(name, () => {
      const plain = relay([native], false)
      const expected = read(plain.now + (plain.last ?? ''))
      expect(expected.costs).toEqual([])
      const cost = costOf(usage.usage, GOLDEN_MODEL.rates)
      for (const [how, chunks] of cuts(native)) {
        const { now, last, fault } = relay(chunks, true)
        expect(fault?.name, how).toBe(plain.fault?.name as never)
        const whole = read(now + (last ?? ''))
        const isLateDelta = (event: unknown): boolean => (event as { type: string }).type === 'message_delta'
        // An answer without any message_delta gets one, which says the cost.
        const hasDelta = expected.events.some(isLateDelta) || usage.end !== 'complete'
        expect(hasDelta ? whole.events : whole.events.filter((event) => !isLateDelta(event)), how).toEqual([...expected.events])
        if (usage.end !== 'complete') expect(whole.costs, how).toEqual([])
        else {
          expect(whole.costs, how).toEqual([{ type: 'message_delta', cost_usd: toUsd(cost), cost_usd_exact: toExactUsdText(cost) }])
          expect(read(now).costs, how).toEqual([])
          expect(read(last ?? '').costs, how).toHaveLength(1)
        }
      }
    })
  }
})

const event = (type: string, more: Record<string, unknown> = {}): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
const START = event('message_start', {
  message: { id: 'msg_1', model: GOLDEN_MODEL.upstreamModel, usage: { input_tokens: 10, output_tokens: 1 } },
})
const DELTA = (output_tokens: number, stop: string | null = 'end_turn') =>
  event('message_delta', { delta: { stop_reason: stop }, usage: { output_tokens } })
const TEXT = event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'x' } })
const STOP = event('message_stop')
const bytes = (text: string): Uint8Array => Buffer.from(text)
const text = (sent: unknown): string => Buffer.from((sent as Uint8Array | undefined) ?? []).toString()

test('a message_delta waits until it is known to be the last; one that more follows leaves as it was', () => {
  const transcoder = new MessagesTranscoder(GOLDEN_MODEL, GOLDEN_BOUNDS, true)
  transcoder.push(bytes(START))
  expect(transcoder.push(bytes(DELTA(3, null)))).toEqual({})
  expect(transcoder.push(bytes(event('ping')))).toEqual({})
  const released = text(transcoder.push(bytes(TEXT)).now)
  expect(eventsOf(released).map(({ event: type }) => type)).toEqual(['message_delta', 'ping', 'content_block_delta'])
  expect(released).not.toContain('cost_usd')
  expect(transcoder.push(bytes(DELTA(4)))).toEqual({})
  expect(text(transcoder.push(bytes(DELTA(5))).now)).toContain('"output_tokens":4')
  const { now, last } = transcoder.push(bytes(STOP))
  expect(now).toBeUndefined()
  expect(eventsOf(text(last)).map(({ data }) => data)).toEqual([
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn' },
      usage: { output_tokens: 5, cost_usd: 0.000105, cost_usd_exact: '0.000105' },
    },
    { type: 'message_stop' },
  ])
})

test('one that more follows in the same piece leaves with it', () => {
  const transcoder = new MessagesTranscoder(GOLDEN_MODEL, GOLDEN_BOUNDS, true)
  const released = text(transcoder.push(bytes(START + DELTA(3, null) + TEXT)).now)
  expect(eventsOf(released).map(({ event: type }) => type)).toEqual(['message_start', 'message_delta', 'content_block_delta'])
})

test('an upstream that goes on without an end is not held without end: its client has what came, and the cost behind it', () => {
  const transcoder = new MessagesTranscoder(GOLDEN_MODEL, GOLDEN_BOUNDS, true)
  transcoder.push(bytes(START + DELTA(3)))
  let got = 0
  for (const piece of [event('ping'), ': nothing\n\n']) {
    const many = piece.repeat(1_000)
    for (let times = 0; times < 100; times++) got += text(transcoder.push(bytes(many)).now).length
  }
  expect(got).toBeGreaterThan(100 * 1_000 * (event('ping').length + ': nothing\n\n'.length) - 100_000)
  const { now, last } = transcoder.push(bytes(STOP))
  expect(read(text(now)).costs).toEqual([])
  expect(read(text(last)).costs).toEqual([{ type: 'message_delta', cost_usd: 0.000075, cost_usd_exact: '0.000075' }])
})

test('what is held leaves before an error, without a cost', () => {
  const transcoder = new MessagesTranscoder(GOLDEN_MODEL, GOLDEN_BOUNDS, true)
  transcoder.push(bytes(START + DELTA(3)))
  const failed = text(transcoder.fail(new Refusal('timedOut')))
  expect(eventsOf(failed).map(({ event: type }) => type)).toEqual(['message_delta', 'error'])
  expect(failed).not.toContain('cost_usd')
})

test('a cost that an upstream writes is not shown as ours', () => {
  const transcoder = new MessagesTranscoder(GOLDEN_MODEL, GOLDEN_BOUNDS, true)
  const theirs = event('message_delta', {
    delta: { stop_reason: 'end_turn' },
    usage: { cost_usd: 9, output_tokens: 5, cost_usd_exact: '9' },
  })
  const { last } = transcoder.push(bytes(START + theirs + STOP))
  expect(eventsOf(text(last))[0]?.data['usage']).toEqual({ cost_usd: 0.000105, output_tokens: 5, cost_usd_exact: '0.000105' })
})
