/**
 * The history of requests: every request is in one minute and one hour, whatever is written in between, lost on the way or stepped by the clock; percentiles come from
 * sums; memory is bounded. Rules: pages.md "History".
 */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { keptSince, writerSeen } from '../../../src/core/history/kept.ts'
import type { MomentRows } from '../../../src/core/history/moment.ts'
import { HistoryRecorder } from '../../../src/core/history/recorder.ts'
import { HistorySeries, partsOf, spanOf } from '../../../src/core/history/series.ts'
import { Times } from '../../../src/core/times.ts'

const START = Date.UTC(2026, 10, 27, 10, 58)

/** A store as both are: the rows of a writer's moment replace those that it wrote before. */
class Kept {
  readonly rows = new Map<string, MomentRows>()
  put(moments: readonly MomentRows[]): void {
    for (const moment of moments) this.rows.set(`${moment.writer} ${moment.step} ${moment.at}`, moment)
  }
  requests(step: number): number {
    return [...this.rows.values()].filter((moment) => moment.step === step).reduce((sum, { cells }) => sum + sumOf(cells), 0)
  }
  accounts(step: number): number {
    return [...this.rows.values()].filter((moment) => moment.step === step).reduce((sum, { accounts }) => sum + sumOf(accounts), 0)
  }
}
const sumOf = (rows: readonly Readonly<{ requests: number }>[]): number => rows.reduce((sum, { requests }) => sum + requests, 0)

test('every request is in one minute and one hour, whatever is written in between, lost on the way or stepped by the clock', () => {
  const step = fc.record({
    model: fc.constantFrom('a', 'b'),
    accountId: fc.constantFrom('acc_1', 'acc_2', undefined),
    passS: fc.integer({ min: -4_000, max: 4_000 }),
    writes: fc.boolean(),
    isLost: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let now = START
      const recorder = new HistoryRecorder({ boot: 'b1', now: () => now })
      const kept = new Kept()
      const write = (isLost: boolean): void => {
        const moments = recorder.take()
        if (isLost) return
        kept.put(moments)
        recorder.written(moments)
      }
      for (const { passS, writes, isLost, ...request } of steps) {
        now += passS * 1_000
        recorder.ended({ ...request, durationMs: 5 })
        if (writes) write(isLost)
      }
      write(false)
      expect([kept.requests(60), kept.requests(3_600)]).toEqual([steps.length, steps.length])
      expect([kept.accounts(60), kept.accounts(3_600)]).toEqual([steps.length, steps.length])
      expect(recorder.take()).toEqual([])
    }),
  )
})

test('what cannot be written waits in bounded memory, the oldest goes first', () => {
  let now = START
  const recorder = new HistoryRecorder({ boot: 'b1', now: () => now })
  for (let minute = 0; minute < 2_000; minute++) {
    recorder.ended({ durationMs: 1 })
    now += 60_000
  }
  const waiting = recorder.take()
  expect(waiting.length).toBe(800)
  expect(waiting.at(-1)?.at).toBe(Math.floor((now - 60_000) / 3_600_000) * 3_600)
})

test('accounts beyond the most of a moment are counted together, and all are counted', () => {
  const recorder = new HistoryRecorder({ boot: 'b1', now: () => START })
  for (let number = 0; number < 3_000; number++)
    recorder.ended({ accountId: `acc_${number % 1_500}`, refusal: 'rateLimited', durationMs: 1 })
  for (let times = 0; times < 10; times++) recorder.ended({ accountId: 'acc_7', durationMs: 1 })
  const accounts = recorder.take()[0]?.accounts ?? []
  expect(accounts.length).toBe(201)
  expect(accounts[0]).toEqual({ account: 'acc_7', requests: 12, refused: 2 })
  expect(accounts.at(-1)?.account).toBe('')
  expect(sumOf(accounts)).toBe(3_010)
})

test('one line may stand for several requests', () => {
  const recorder = new HistoryRecorder({ boot: 'b1', now: () => START })
  recorder.ended({ refusal: 'keyInvalid', count: 40, durationMs: 1 })
  const [minute] = recorder.take()
  expect(minute?.cells.map(({ requests, refusals }) => [requests, refusals])).toEqual([[40, '{"keyInvalid":40}']])
})

test('times that were written and added are the times', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 2_000_000 }), { maxLength: 400 }), fc.integer({ min: 0, max: 400 }), (all, cut) => {
      const [whole, left, right, sum] = [new Times(), new Times(), new Times(), new Times()]
      for (const ms of all) whole.add(ms)
      for (const ms of all.slice(0, cut)) left.add(ms)
      for (const ms of all.slice(cut)) right.add(ms)
      for (const part of [left, right]) sum.merge(part.bytes())
      expect(sum.bytes()).toEqual(whole.bytes())
      expect(sum.count).toBe(all.length)
      for (const share of [0.5, 0.95, 0.99]) expect(sum.percentile(share)).toBe(whole.percentile(share))
    }),
  )
})

test('a percentile is within 5 % of the time of its rank', () => {
  const times = new Times()
  const all = Array.from({ length: 1_000 }, (_, index) => 3 + index * 1.7)
  for (const ms of all) times.add(ms)
  for (const share of [0.5, 0.95, 0.99]) {
    const exact = all[Math.ceil(share * all.length) - 1] ?? 0
    expect(Math.abs((times.percentile(share) ?? 0) / exact - 1)).toBeLessThan(0.05)
  }
})

test('bytes that are no times add nothing that is not a count', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 255 })), (bytes) => {
      const times = new Times()
      times.merge(Uint8Array.from(bytes))
      expect(Number.isSafeInteger(times.count)).toBe(true)
    }),
  )
})

test('a chart adds the rows of all writers, by part and by model or upstream', () => {
  const kept = new Kept()
  for (const boot of ['b1', 'b2']) {
    const recorder = new HistoryRecorder({ boot, now: () => START })
    recorder.ended({ model: 'm', upstream: 'east', firstByteMs: 100, durationMs: 200 })
    recorder.ended({ model: 'm', upstream: 'west', refusal: 'upstreamBusy', durationMs: 10 })
    recorder.ended({ refusal: 'keyInvalid', durationMs: 1 })
    kept.put(recorder.take())
  }
  const span = spanOf(START - 120_000, START + 120_000, START + 120_000)
  expect([span.step, span.partS]).toEqual([60, 60])
  expect(partsOf(span)).toEqual([
    '2026-11-27T10:56:00.000Z',
    '2026-11-27T10:57:00.000Z',
    '2026-11-27T10:58:00.000Z',
    '2026-11-27T10:59:00.000Z',
  ])
  const series = new HistorySeries(span, 'upstream')
  for (const { step, at, cells } of kept.rows.values()) if (step === 60) for (const cell of cells) series.add(at, cell)
  expect(series.all().requests).toEqual([0, 0, 6, 0])
  expect(series.all().refusals).toEqual({ keyInvalid: [0, 0, 2, 0], upstreamBusy: [0, 0, 2, 0] })
  expect(series.all().first_byte[1]).toEqual({ p50_ms: null, p95_ms: null, p99_ms: null })
  expect(Math.abs((series.all().first_byte[2]?.p50_ms ?? 0) / 100 - 1)).toBeLessThan(0.05)
  expect(series.lines().map(({ name, requests }) => [name, requests[2]])).toEqual([
    ['east', 2],
    ['none', 2],
    ['west', 2],
  ])
})

test('a long span is of hours, and has at most 121 parts', () => {
  const now = START
  const days = (count: number) => spanOf(now - count * 86_400_000, now, now)
  expect(
    [1, 2, 3, 7, 30, 400].map((count) => days(count)).map(({ step, partS, from, to }) => [step, partS, (to - from) / partS <= 121]),
  ).toEqual([
    [60, 900, true],
    [60, 1_800, true],
    [3_600, 3_600, true],
    [3_600, 7_200, true],
    [3_600, 21_600, true],
    [3_600, 604_800, true],
  ])
})

test('minutes are kept for two days and hours for 400', () => {
  expect(keptSince(START)).toEqual({ minutes: START / 1_000 - 172_800, hours: START / 1_000 - 34_560_000 })
})

test('a writer that has ended without a word says from when on requests may be missing', () => {
  const row = { writer: 'b1', began_at: 1_000, seen_at: 2_000, is_whole: 0 }
  expect(writerSeen(row, 2_090).lostAfter).toBeNull()
  expect(writerSeen(row, 2_091).lostAfter).toBe(2_000)
  expect(writerSeen({ ...row, is_whole: 1 }, 9_000).lostAfter).toBeNull()
})
