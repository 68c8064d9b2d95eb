/**
 * Each figure of the history is what it says: refusals and times are summed by their own kind over minutes, hours, writers and reasons, lines and accounts stand with the
 * most first, and a span has exactly the parts that it names. Rules: pages.md "History".
 */

import { expect, test } from 'bun:test'
import { BoundedCounts } from '../../../src/core/history/bounded-counts.ts'
import { type CellRow, Moment } from '../../../src/core/history/moment.ts'
import { HistoryRecorder } from '../../../src/core/history/recorder.ts'
import { HistorySeries, spanOf } from '../../../src/core/history/series.ts'
import { Times } from '../../../src/core/times.ts'

const HOUR = Date.UTC(2026, 10, 27, 10)
const AT = HOUR / 1_000
const medianOf = (bytes: Uint8Array<ArrayBuffer> | undefined): number | null => {
  const times = new Times()
  if (bytes !== undefined) times.merge(bytes)
  return times.percentile(0.5)
}
const countOf = (bytes: Uint8Array<ArrayBuffer> | undefined): number => {
  const times = new Times()
  if (bytes !== undefined) times.merge(bytes)
  return times.count
}
const near = (found: number | null | undefined, ms: number): void => expect(Math.abs((found ?? 0) / ms - 1)).toBeLessThan(0.05)

test('an hour has the refusals by reason and both kinds of times of all its minutes', () => {
  let now = HOUR
  const recorder = new HistoryRecorder({ boot: 'b1', now: () => now })
  for (let minute = 0; minute < 3; minute++) {
    recorder.ended({ model: 'm', firstByteMs: 100, durationMs: 5_000, accountId: 'acc_1' })
    recorder.ended({ model: 'm', refusal: 'upstreamBusy', durationMs: 5_000, accountId: 'acc_1' })
    now += 60_000
  }
  const [cell] = recorder.take().find(({ step, at }) => step === 3_600 && at === AT)?.cells ?? []
  expect([cell?.requests, cell?.refusals]).toEqual([6, '{"upstreamBusy":3}'])
  expect([countOf(cell?.firstByte), countOf(cell?.duration)]).toEqual([3, 6])
  near(medianOf(cell?.firstByte), 100)
  near(medianOf(cell?.duration), 5_000)
})

test('a line that stands for several requests has so many times to the end, and so many refusals of its account', () => {
  const moment = new Moment(60, AT)
  moment.add({ refusal: 'keyInvalid', accountId: 'acc_1', count: 40, durationMs: 7 })
  moment.add({ refusal: 'keyInvalid', accountId: 'acc_1', count: 2, durationMs: 7 })
  const { cells, accounts } = moment.rows('b1')
  expect([cells[0]?.requests, cells[0]?.refusals, countOf(cells[0]?.duration)]).toEqual([42, '{"keyInvalid":42}', 42])
  expect(accounts).toEqual([{ account: 'acc_1', requests: 42, refused: 42 }])
})

test('names beyond the most cells of a moment are one cell, and every request is counted', () => {
  const moment = new Moment(60, AT)
  for (let name = 0; name < 2_500; name++) moment.add({ model: `m${name}`, durationMs: 1 })
  const { cells } = moment.rows('b1')
  expect(cells.length).toBe(2_001)
  expect(cells.find(({ model }) => model === '')?.requests).toBe(500)
})

test('refusals of the accounts that are counted together are in their row', () => {
  const counts = new BoundedCounts(1)
  for (const account of ['a', 'a', 'b', 'c']) counts.add(account, 1, account !== 'a')
  counts.add('', 3, true)
  expect(counts.rows()).toEqual([
    { account: 'a', requests: 2, refused: 0 },
    { account: '', requests: 5, refused: 5 },
  ])
  const sum = new BoundedCounts(1)
  for (let times = 0; times < 2; times++) sum.addAll(counts)
  expect(sum.rows().at(-1)).toEqual({ account: '', requests: 10, refused: 10 })
})

const cellOf = (
  name: string,
  requests: number,
  of: Partial<Pick<CellRow, 'refusals'>> & { firstMs?: number; durationMs?: number } = {},
): CellRow => {
  const [first, duration] = [new Times(), new Times()]
  if (of.firstMs !== undefined) first.add(of.firstMs)
  if (of.durationMs !== undefined) duration.add(of.durationMs)
  return {
    ...{ model: 'm', upstream: name, requests },
    refusals: of.refusals ?? '{}',
    firstByte: first.bytes(),
    duration: duration.bytes(),
  }
}

test('lines and accounts stand with the most first; times to the first byte and to the end are apart, and each percentile is its own', () => {
  const span = spanOf(HOUR, HOUR + 120_000, HOUR + 120_000)
  const series = new HistorySeries(span, 'upstream')
  series.add(AT, cellOf('few', 1, { firstMs: 100, durationMs: 9_000 }))
  series.add(AT, cellOf('many', 2))
  series.add(AT + 60, cellOf('many', 2))
  expect(series.lines().map(({ name }) => name)).toEqual(['many', 'few'])
  const [, few] = series.lines()
  near(few?.first_byte[0]?.p50_ms, 100)
  near(few?.duration[0]?.p50_ms, 9_000)
  const spread = new Times()
  for (let ms = 1; ms <= 1_000; ms++) spread.add(ms)
  series.add(AT + 60, { ...cellOf('few', 1), firstByte: spread.bytes() })
  near(series.lines()[1]?.first_byte[1]?.p50_ms, 500)
  near(series.lines()[1]?.first_byte[1]?.p95_ms, 950)
  near(series.lines()[1]?.first_byte[1]?.p99_ms, 990)
  for (const [account, requests, refused] of [
    ['small', 1, 1],
    ['large', 5, 2],
    ['large', 5, 1],
  ] as const)
    series.addAccount({ account, requests, refused })
  expect(series.accounts()).toEqual([
    { account: 'large', requests: 10, refused: 3 },
    { account: 'small', requests: 1, refused: 1 },
  ])
})

test('refusals that are no object of counts count nothing', () => {
  const series = new HistorySeries(spanOf(HOUR, HOUR + 60_000, HOUR), 'upstream')
  for (const refusals of ['null', '5', '[]', '{"a":"x"}', '{"b":2}']) series.add(AT, cellOf('east', 1, { refusals }))
  expect(series.all().refusals).toEqual({ b: [2] })
})

test('a span has the part in which it ends, and minutes only where it is no longer than they are kept', () => {
  const [from, to] = [HOUR + 30_000, HOUR + 150_000]
  expect(spanOf(from, to, to)).toEqual({ from: AT, to: AT + 180, step: 60, partS: 60 })
  const twoDays = 2 * 86_400_000
  expect(spanOf(HOUR, HOUR + twoDays, HOUR + twoDays).step).toBe(60)
  // A span that begins where minutes are kept, and ends later than they could be.
  expect(spanOf(HOUR, HOUR + twoDays + 1, HOUR).step).toBe(3_600)
  expect(spanOf(HOUR - 1, HOUR, HOUR - 1 + twoDays + 1).step).toBe(3_600)
})

test('a clock that steps back by more than a minute begins another writer, which says when it began; by less it does not', () => {
  let now = HOUR + 600_000
  const recorder = new HistoryRecorder({ boot: 'b1', now: () => now })
  recorder.ended({ durationMs: 1 })
  now -= 60_000
  recorder.ended({ durationMs: 1 })
  expect(recorder.writer).toEqual({ name: 'b1', beganAt: AT + 600 })
  now -= 1_000
  recorder.ended({ durationMs: 1 })
  expect(recorder.writer).toEqual({ name: 'b1-1', beganAt: AT + 539 })
})
