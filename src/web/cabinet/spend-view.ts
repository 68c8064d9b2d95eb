/** The view of a page of spend or requests, which stands in its address, so that it can be shared and gone back to. Days are UTC days. */

import { dayBefore, type Moments, momentsOf } from '../parts/explore-view.ts'

const HOUR_MS = 3_600_000
const DAY = /^\d{4}-\d{2}-\d{2}$/

export const RANGES = [
  { range: 'today', text: 'Today', days: 1 },
  { range: '7', text: '7 days', days: 7 },
  { range: '30', text: '30 days', days: 30 },
  { range: '90', text: '90 days', days: 90 },
] as const
type Range = (typeof RANGES)[number]['range'] | 'other'

/** `from`, `to`: "2026-11-22", both included. */
export type SpendView = Readonly<{
  range: Range
  from: string
  to: string
  by: 'model' | 'key' | 'tag'
  key?: string
  model?: string
  tag?: string
}>

/** The filters of a list of requests. */
export const FILTERS = ['key', 'model', 'outcome', 'format', 'tag', 'from', 'to'] as const
export type Filters = Readonly<Partial<Record<(typeof FILTERS)[number], string>>>

type Query = Readonly<Record<string, string | undefined>>

/** Reads a view from any address: a value that cannot be read counts as absent. */
export function spendViewOf(query: Query, nowMs: number): SpendView {
  const of = {
    by: query['by'] === 'key' || query['by'] === 'tag' ? query['by'] : 'model',
    ...(query['key'] ? { key: query['key'] } : {}),
    ...(query['model'] ? { model: query['model'] } : {}),
    ...(query['tag'] ? { tag: query['tag'] } : {}),
  } as const
  const { from, to } = query
  if (from !== undefined && to !== undefined && DAY.test(from) && DAY.test(to)) return { range: 'other', from, to, ...of }
  const known = RANGES.find(({ range }) => range === query['range']) ?? RANGES[2]
  return { range: known.range, from: dayBefore(nowMs, known.days - 1), to: dayBefore(nowMs, 0), ...of }
}

/** The view as a query, without values that are the default. */
export function spendSearch({ range, from, to, by, key, model, tag }: SpendView): string {
  return searchOf({
    range: range === 'other' || range === '30' ? undefined : range,
    from: range === 'other' ? from : undefined,
    to: range === 'other' ? to : undefined,
    by: by === 'model' ? undefined : by,
    key,
    model,
    tag,
  })
}

/** The query as text, "?a=b&c=d"; an empty text where it has no value. */
export function searchOf(query: Query): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '')
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}

/** The time of a bar: its hour where one day is shown by hour, else its day. */
export function barSpan(
  { is_by_hour, places, to }: Readonly<{ is_by_hour: boolean; places: readonly string[]; to: string }>,
  index: number,
): Moments {
  const day = is_by_hour ? to : (places[index] ?? to)
  if (!is_by_hour) return momentsOf({ from: day, to: day })
  const from = Date.parse(`${day}T${places[index] ?? '00:00'}Z`)
  return { from: new Date(from).toISOString(), to: new Date(from + HOUR_MS).toISOString() }
}
