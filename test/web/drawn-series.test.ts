/**
 * What charts get to draw is what their answers say: refusals by reason, the three times of the first byte, amounts and rates by group, each in its place; and the time that a
 * bar stands for. What then stands on the canvas is read by test/browser/charts.test.ts. Rules: pages.md "History", "Explore", "Spend".
 */

import { expect, test } from 'bun:test'
import { spendSeries } from '../../src/web/cabinet/spend-series.ts'
import { barSpan as spendBarSpan } from '../../src/web/cabinet/spend-view.ts'
import { partSpan, refusedAt, requestSeries, timeSeries } from '../../src/web/console/pages/history-series.ts'
import { barSpan, spentSeries } from '../../src/web/console/pages/spent-series.ts'
import { trafficSeries } from '../../src/web/console/pages/traffic-series.ts'
import { OTHERS_COLOUR } from '../../src/web/parts/colours.ts'
import { overTime, stacked } from '../../src/web/parts/drawn.ts'
import { rateSeries, sumSeries } from '../../src/web/parts/explore-series.ts'
import { stepSpan } from '../../src/web/parts/explore-view.ts'

const valuesOf = (series: readonly Readonly<{ name: string; values: readonly (number | null)[] }>[]) =>
  Object.fromEntries(series.map(({ name, values }) => [name, values]))
const titleOf = (_: string, id: string): string => id

test('a stack has each series on those before it, and the tallest first', () => {
  const series = [{ values: [1, 2] }, { values: [null, 3] }, { values: [10] }]
  expect(stacked(series, 2)).toEqual([
    [11, 5],
    [1, 5],
    [1, 2],
  ])
})

test('values stand in the middle of their parts; what is not stacked keeps its gaps', () => {
  const starts = ['1970-01-01T00:00:00Z', '1970-01-01T00:01:00Z']
  const series = [{ values: [1, null] }, { values: [2, 5] }]
  expect(overTime(starts, 60, series, false)).toEqual([
    [30, 90],
    [1, null],
    [2, 5],
  ])
  expect(overTime(starts, 60, series, true)).toEqual([
    [30, 90],
    [3, 5],
    [1, 0],
  ])
})

test('what was answered is all less what was refused; the most frequent five reasons stand by themselves, the others together', () => {
  const refusals = Object.fromEntries(['aOne', 'bTwo', 'c', 'd', 'e', 'f', 'g'].map((name, at) => [name, [7 - at, at]]))
  const line = { requests: [100, 50], refusals }
  expect([refusedAt(line, 0), refusedAt(line, 1)]).toEqual([28, 21])
  const few = requestSeries({ requests: [9, 8], refusals: { aOne: [1, 2], bTwo: [4, 0] } })
  expect(few.map(({ name, values }) => [name, values])).toEqual([
    ['answered', [4, 6]],
    ['b two', [4, 0]],
    ['a one', [1, 2]],
  ])
  const many = requestSeries(line)
  expect([many.length, many.at(-1)?.name, new Set(many.map(({ colour }) => colour)).size]).toEqual([7, 'other refusals', 7])
  expect(valuesOf(many)).toMatchObject({ answered: [72, 29], 'a one': [7, 0], 'other refusals': [3, 11] })
})

test('p50, p95 and p99 are three lines, with a gap where there was no first byte', () => {
  const first_byte = [
    { p50_ms: 1, p95_ms: 2, p99_ms: 3 },
    { p50_ms: null, p95_ms: null, p99_ms: null },
  ]
  const lines = timeSeries({ first_byte })
  expect(valuesOf(lines)).toEqual({ p50: [1, null], p95: [2, null], p99: [3, null] })
  expect(new Set(lines.map(({ colour }) => colour)).size).toBe(3)
})

test('spend of the overview and of Explore, and the spend of an account, are the amounts of the answer; the others together have no colour of a thing', () => {
  const series = [
    { things: [{ id: 'opus', name: '' }], values: ['0.30', null] },
    { things: null, values: ['0.1', '12.000000000001'] },
  ]
  const expected = { opus: [0.3, 0], others: [0.1, 12.000000000001] }
  const ofOverview = spentSeries({ by: 'model', data: [], series })
  const ofExplore = sumSeries({ by: ['model'], series }, titleOf)
  const ofAccount = spendSeries({
    series: [
      { id: 'opus', name: 'opus', values: ['0.30', '0'] },
      { id: null, name: '', values: ['0.1', '12.000000000001'] },
    ],
  })
  for (const drawn of [ofOverview, ofExplore, ofAccount]) {
    expect(valuesOf(drawn)).toEqual(expected)
    expect(drawn.map(({ colour }) => colour === OTHERS_COLOUR)).toEqual([false, true])
  }
})

test('rates and traffic are drawn as they are, with a gap where nothing was counted', () => {
  const rates = rateSeries({ by: ['model'], series: [{ things: [{ id: 'opus', name: '' }], values: ['125', null] }] }, titleOf)
  expect(valuesOf(rates)).toEqual({ opus: [125, null] })
  const traffic = trafficSeries({
    by: ['reason', 'model'],
    series: [
      { ids: ['rateLimited', 'opus'], values: [3, null] },
      { ids: null, values: [0, 1] },
    ],
  })
  expect(valuesOf(traffic)).toEqual({ 'rate limited, opus': [3, null], others: [0, 1] })
})

test('a bar stands for its part, its hour or its day, cut where the sum begins and ends', () => {
  const parts = ['2026-11-26T23:35:00.000Z', '2026-11-26T23:36:00.000Z']
  expect(partSpan({ parts, part_s: 60 }, 1)).toEqual({ from: '2026-11-26T23:36:00.000Z', to: '2026-11-26T23:37:00.000Z' })
  const spent = {
    from: '2026-11-20T13:00:00Z',
    to: '2026-11-21T09:00:00Z',
    places: ['2026-11-20T00:00:00Z', '2026-11-21T00:00:00Z'],
    step_s: 86_400,
  }
  expect([0, 1].map((at) => barSpan(spent, at))).toEqual([
    { from: '2026-11-20T13:00:00.000Z', to: '2026-11-21T00:00:00.000Z' },
    { from: '2026-11-21T00:00:00.000Z', to: '2026-11-21T09:00:00.000Z' },
  ])
  const hours = { is_by_hour: true, places: ['03:00', '04:00'], to: '2026-11-20' }
  expect(spendBarSpan(hours, 1)).toEqual({ from: '2026-11-20T04:00:00.000Z', to: '2026-11-20T05:00:00.000Z' })
  const days = { is_by_hour: false, places: ['2026-11-19', '2026-11-20'], to: '2026-11-20' }
  expect(spendBarSpan(days, 0)).toEqual({ from: '2026-11-19T00:00:00Z', to: '2026-11-20T00:00:00.000Z' })
})

test('a step of Explore is an hour, a day, a week or a month, within the days that are asked for', () => {
  const view = { from: '2026-01-15', to: '2026-03-10' }
  expect(
    [
      ['hour', '2026-02-01T23:00Z'],
      ['day', '2026-02-28'],
      ['week', '2026-02-23'],
      ['month', '2026-02-01'],
      ['month', '2026-01-01'],
      ['month', '2026-03-01'],
    ].map(([step = '', place = '']) => Object.values(stepSpan(view, step, place)).map((moment) => moment.slice(0, 13))),
  ).toEqual([
    ['2026-02-01T23', '2026-02-02T00'],
    ['2026-02-28T00', '2026-03-01T00'],
    ['2026-02-23T00', '2026-03-02T00'],
    ['2026-02-01T00', '2026-03-01T00'],
    ['2026-01-15T00', '2026-02-01T00'],
    ['2026-03-01T00', '2026-03-11T00'],
  ])
})
