/**
 * Refusals and first bytes by group and step: histograms of any number of writers add up to that of all times together, reasons to what was refused, groups to the whole; a step
 * in which nothing was counted is a gap, and one without refusals is 0. Rules: pages.md "Explore", "History".
 */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { STEPS, stepAt, stepsBetween } from '../../../src/core/explore.ts'
import { type Ended, Moment } from '../../../src/core/history/moment.ts'
import { type TrafficAsked, type TrafficFound, type TrafficRow, TrafficSums } from '../../../src/core/history/traffic.ts'
import { Times } from '../../../src/core/times.ts'
import { runs } from '../../support/property-runs.ts'

const HOUR_S = 3_600
/** 2026-11-26T00:00:00Z, a Thursday. */
const FROM = 20_783 * 24
const ASKED: TrafficAsked = { fromHour: FROM, toHour: FROM + 47, by: ['model'], step: 'day', measure: 'refusals', only: {}, isFile: true }

type AtHour = Ended & Readonly<{ hour: number; writer: number }>

/** The rows of as many writers as there are, an hour each. */
function found(requests: readonly AtHour[], asked: Partial<TrafficAsked> = {}): TrafficFound {
  const sums = new TrafficSums({ ...ASKED, ...asked })
  for (const own of Map.groupBy(requests, ({ hour, writer }) => `${hour} ${writer}`).values()) {
    const at = (own[0]?.hour ?? 0) * HOUR_S
    const moment = new Moment(HOUR_S, at)
    for (const { hour: _, writer: __, ...request } of own) moment.add(request)
    for (const cell of moment.rows('w').cells) sums.add(at, cell)
  }
  const work = sums.found()
  for (;;) {
    const step = work.next()
    if (step.done !== true) continue
    if (step.value === 'tooMuch') throw new Error('too many rows')
    return step.value
  }
}
const rowsOf = ({ rows }: TrafficFound): TrafficRow[] => rows.flatMap((text) => JSON.parse(text) as TrafficRow[])

const REQUEST = fc.record({
  hour: fc.integer({ min: FROM, max: FROM + 47 }),
  writer: fc.integer({ min: 0, max: 2 }),
  model: fc.constantFrom('opus', 'haiku', undefined),
  upstream: fc.constantFrom('east', 'west', undefined),
  refusal: fc.constantFrom('rateLimited', 'keyInvalid', undefined, undefined),
  firstByteMs: fc.option(fc.integer({ min: 1, max: 60_000 }), { nil: undefined }),
  durationMs: fc.constant(1),
})

/** What the merged histograms must give: that of all times together. */
function spreadOf(requests: readonly AtHour[]) {
  const times = new Times()
  for (const { firstByteMs } of requests) if (firstByteMs !== undefined) times.add(firstByteMs)
  const shown = (share: number): number | null => {
    const ms = times.percentile(share)
    return ms === null ? null : Math.round(ms * 10) / 10
  }
  return { p50_ms: shown(0.5), p95_ms: shown(0.95), p99_ms: shown(0.99) }
}
const figuresOf = (requests: readonly AtHour[]) => ({
  requests: requests.length,
  refused: requests.filter(({ refusal }) => refusal !== undefined).length,
  ...spreadOf(requests),
})
const namesOf = ({ model = '(none)', upstream = '(none)' }: AtHour) => ({ model, upstream })

test('groups, steps and the whole are those of all requests together, whatever writers counted them', () => {
  fc.assert(
    fc.property(fc.array(REQUEST, { maxLength: 60 }), fc.constantFrom(...STEPS), fc.boolean(), (requests, step, isTwo) => {
      const by = isTwo ? (['upstream', 'model'] as const) : (['upstream'] as const)
      const idsOf = (request: AtHour): string[] => by.map((one) => namesOf(request)[one])
      const shown = found(requests, { step, by, measure: 'first_byte_p95' })
      expect(shown.total).toEqual(figuresOf(requests))
      const groups = [...Map.groupBy(requests, (request) => JSON.stringify(idsOf(request)))]
      expect(new Map(shown.groups.map(({ ids, ...figures }) => [JSON.stringify(ids), figures]))).toEqual(
        new Map(groups.map(([id, of]) => [id, figuresOf(of)])),
      )
      const cells = [...Map.groupBy(requests, (request) => `${stepAt(request.hour, step)} ${JSON.stringify(idsOf(request))}`)]
      expect(new Map(rowsOf(shown).map(({ hour, ids, ...figures }) => [`${hour} ${JSON.stringify(ids)}`, figures]))).toEqual(
        new Map(cells.map(([id, of]) => [id, figuresOf(of)])),
      )
      const hours = rowsOf(shown).map(({ hour }) => hour)
      expect(hours).toEqual(hours.toSorted((a, b) => a - b))
    }),
    { numRuns: runs(60) },
  )
})

test('reasons add up to what was refused, and a step without any request is a gap, not 0', () => {
  fc.assert(
    fc.property(fc.array(REQUEST, { maxLength: 40 }), (requests) => {
      const shown = found(requests, { by: ['reason'], step: 'hour' })
      const refused = requests.filter(({ refusal }) => refusal !== undefined)
      expect(shown.groups.reduce((sum, group) => sum + group.refused, 0)).toBe(refused.length)
      expect([shown.total.requests, shown.total.refused]).toEqual([requests.length, refused.length])
      expect(shown.groups.every(({ requests: known }) => known === null)).toBe(true)
      const places = stepsBetween(FROM, FROM + 47, 'hour')
      for (const { ids, values } of shown.series)
        expect(values).toEqual(
          places.map((hour) => {
            const own = requests.filter((request) => request.hour === hour)
            return own.length === 0 ? null : own.filter(({ refusal }) => refusal === ids?.[0]).length
          }),
        )
    }),
    { numRuns: runs(60) },
  )
})

const request = (changed: Partial<AtHour> = {}): AtHour => ({ hour: FROM, writer: 0, durationMs: 1, ...changed })

test('a filter leaves what was counted of others a 0, not a gap', () => {
  const requests = [request({ model: 'opus', refusal: 'keyInvalid' }), request({ model: 'haiku', hour: FROM + 24 })]
  const shown = found(requests, { only: { model: ['opus'] } })
  expect(shown.series.map(({ ids, values }) => [ids, values])).toEqual([[['opus'], [1, 0]]])
  expect(shown.total).toMatchObject({ requests: 1, refused: 1 })
  expect(found(requests, { only: { upstream: ['(none)'] } }).total.requests).toBe(2)
})

test('seven groups have a series, and all others one together whose time is that of all their requests', () => {
  const requests = Array.from({ length: 10 }, (_, index) => request({ model: `m${index}`, firstByteMs: 1_000 - index * 100 + 1 }))
  const shown = found(requests, { measure: 'first_byte_p50' })
  expect(shown.series.map(({ ids }) => ids?.[0] ?? null)).toEqual(['m0', 'm1', 'm2', 'm3', 'm4', 'm5', 'm6', null])
  expect(shown.series.at(-1)?.values).toEqual([spreadOf(requests.slice(7)).p50_ms, null])
})

test('beyond 500 groups one row has all others, and beyond 20,000 rows the answer is refused', () => {
  const many = Array.from({ length: 600 }, (_, index) => request({ model: `m${index}`, writer: index % 3, refusal: 'keyInvalid' }))
  expect(found(many)).toMatchObject({ others: { count: 100, requests: 100, refused: 100 }, total: { refused: 600 } })
  expect(found(many).groups.length).toBe(500)
  const sums = new TrafficSums({ ...ASKED, step: 'hour' })
  const nothing = new Uint8Array()
  for (let row = 0; row <= 20_000; row++) {
    if (sums.isTooMuch) throw new Error(`too much with ${row} rows`)
    const cell = { model: `m${row % 700}`, upstream: '', requests: 1, refusals: '{}', firstByte: nothing, duration: nothing }
    sums.add((FROM + Math.floor(row / 700)) * HOUR_S, cell)
  }
  expect([sums.isTooMuch, sums.found().next().value]).toEqual([true, 'tooMuch'])
})
