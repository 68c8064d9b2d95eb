/** By what sums of use are told apart, in which steps of time, and what each comes to. Rules: pages.md "Explore". */

import { isoTime } from './utc.ts'
import { HOUR_MS } from './windows.ts'

export const DIMENSIONS = ['model', 'key', 'account', 'upstream', 'format', 'outcome', 'tag'] as const
export type Dimension = (typeof DIMENSIONS)[number]
/** What customers are told nothing of, and what they have one of. */
const OPERATORS_ONLY: readonly Dimension[] = ['account', 'upstream']
export const CUSTOMERS_DIMENSIONS: readonly Dimension[] = DIMENSIONS.filter((dimension) => !OPERATORS_ONLY.includes(dimension))

export const STEPS = ['hour', 'day', 'week', 'month'] as const
export type Step = (typeof STEPS)[number]

/** Spans of days that are counted from today, by which views are kept. */
export const SPANS = ['today', 'week', 'days30', 'month', 'lastMonth', 'months12'] as const

/** At most so many things tell sums apart. */
export const BY_MAX = 2
/** At most so many values of a filter. */
export const ONLY_MAX = 50
/** A span by hour is a month at most. */
export const HOURLY_DAYS_MAX = 31

const HOURS = 24
/** The first Monday after the beginning of 1970. */
const FIRST_MONDAY = 4

/** The hour with which the step begins that has this one: of a UTC day, a week from Monday on, or a month. Whole hours since 1970. */
export function stepAt(hour: number, step: Step): number {
  const day = Math.floor(hour / HOURS)
  switch (step) {
    case 'hour':
      return hour
    case 'day':
      return day * HOURS
    case 'week':
      return (Math.floor((day - FIRST_MONDAY) / 7) * 7 + FIRST_MONDAY) * HOURS
    case 'month':
      return (day - Number(isoTime(hour * HOUR_MS).slice(8, 10)) + 1) * HOURS
  }
}

/** The beginnings of all steps from that hour up to the other, both included. */
export function stepsBetween(fromHour: number, toHour: number, step: Step): readonly number[] {
  const found: number[] = []
  for (let hour = fromHour; hour <= toHour; ) {
    const start = stepAt(hour, step)
    found.push(start)
    hour = nextStep(start, step)
  }
  return found
}

/** No month has more than 31 days, and none is shorter than 28: the day 32 days on is in the next one. */
function nextStep(start: number, step: Step): number {
  if (step === 'hour') return start + 1
  if (step === 'day') return start + HOURS
  if (step === 'week') return start + 7 * HOURS
  return stepAt(start + 32 * HOURS, 'month')
}

/** A step's beginning in words: a UTC day, or an hour of one. */
export const stepText = (start: number, step: Step): string =>
  step === 'hour' ? `${isoTime(start * HOUR_MS).slice(0, 13)}:00Z` : isoTime(start * HOUR_MS).slice(0, 10)

/** What a chart can show of sums, and by what their groups are ordered. */
export const MEASURES = ['spend', 'requests', 'input', 'output', 'cache_read', 'cache_write', 'cache_hits'] as const
export type Measure = (typeof MEASURES)[number]

/** What a chart can show of traffic, which the history of requests keeps; money and tokens are not in it. Rules: pages.md "History". */
export const TRAFFIC_MEASURES = ['refusals', 'first_byte_p50', 'first_byte_p95', 'first_byte_p99'] as const
export type TrafficMeasure = (typeof TRAFFIC_MEASURES)[number]
export const TRAFFIC_DIMENSIONS = ['model', 'upstream', 'reason'] as const
export type TrafficDimension = (typeof TRAFFIC_DIMENSIONS)[number]
export const isTrafficMeasure = (text: string | undefined): text is TrafficMeasure => TRAFFIC_MEASURES.some((measure) => measure === text)

/** The most series of a chart, which has so many colours; all other things together are one more series. */
export const SERIES_MAX = 7
/** The most rows that a page can show; all other things together are one more row. */
export const SHOWN_ROWS_MAX = 500
