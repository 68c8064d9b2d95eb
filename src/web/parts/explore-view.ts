/** The question of Explore as the page's address holds it. Days are UTC days. Rules: pages.md "Explore". */

const DAY_MS = 86_400_000

const THINGS = ['model', 'key', 'account', 'upstream', 'format', 'outcome', 'tag'] as const
export type ThingName = (typeof THINGS)[number]
/** Why a request was refused tells refusals apart, but is no filter. */
const GROUPS = [...THINGS, 'reason'] as const
export type GroupName = (typeof GROUPS)[number]
const FIELDS = ['from', 'to', 'by', 'step', 'measure', ...THINGS] as const
export type ExploreQuery = Readonly<Partial<Record<(typeof FIELDS)[number], string>>>

/** What a question has, with what stands for what the address does not say. */
export type ExploreView = ExploreQuery & Readonly<Record<'from' | 'to' | 'by' | 'step' | 'measure', string>>

export const exploreViewOf = (query: Readonly<Record<string, string>>, nowMs: number): ExploreView => {
  const given = Object.fromEntries(FIELDS.flatMap((field) => (query[field] ? [[field, query[field]]] : []))) as ExploreQuery
  return { by: 'model', step: 'day', measure: 'spend', from: dayBefore(nowMs, 29), to: dayBefore(nowMs, 0), ...given }
}

export const exploreSearch = (view: ExploreQuery): string =>
  `?${new URLSearchParams(Object.entries(view).filter((entry): entry is [string, string] => Boolean(entry[1])))}`

export const namesIn = (by: string): readonly GroupName[] => {
  const names = by.split(',')
  return GROUPS.filter((group) => names.includes(group)).toSorted((a, b) => names.indexOf(a) - names.indexOf(b))
}

/** Whether the history of requests has it, which keeps no keys, accounts, formats, outcomes and tags, and not the ledger. */
export const isTraffic = (measure: string): boolean => measure === 'refusals' || measure.startsWith('first_byte_')

/** By what a measure's groups can be told apart, of what the page has. */
export const groupsOf = (measure: string, things: readonly ThingName[]): readonly GroupName[] =>
  isTraffic(measure) ? ['model', 'upstream', ...(measure === 'refusals' ? (['reason'] as const) : [])] : things

/** The filters that are on and that the history does not have. */
export const foreignFilters = (view: ExploreQuery): readonly ThingName[] =>
  filtersIn(view).flatMap(([thing]) => (thing === 'model' || thing === 'upstream' ? [] : [thing]))

/** Another measure, told apart by as much as it has of what the view has. */
export function measuredBy(view: ExploreView, measure: string, things: readonly ThingName[]): ExploreView {
  const known = groupsOf(measure, things)
  const by = namesIn(view.by).filter((name) => known.includes(name))
  return { ...view, measure, by: by.length === 0 ? 'model' : by.join() }
}

/** Ids as a filter has them: a comma that is part of an id has a backslash before it. */
export const idsText = (ids: readonly string[]): string => ids.map((id) => id.replaceAll(',', '\\,')).join()
export const idsIn = (text: string): readonly string[] => text.split(/(?<!\\),/).map((id) => id.replaceAll('\\,', ','))

/** The filters that a view has. */
export const filtersIn = (view: ExploreQuery): readonly (readonly [ThingName, readonly string[]])[] =>
  THINGS.flatMap((thing) => (view[thing] ? [[thing, idsIn(view[thing])] as const] : []))

/** The filters of a view as a list of requests has them; undefined: it has none of such a kind, or no tag that stands for several or for none, nor several of them. */
export function onlyOf(view: ExploreQuery, listed: readonly ThingName[]): Readonly<Partial<Record<ThingName, string>>> | undefined {
  const filters = filtersIn(view)
  const isListed = filters.every(
    ([thing, ids]) => listed.includes(thing) && (thing !== 'tag' || (ids.length === 1 && !ids[0]?.startsWith('('))),
  )
  return isListed ? Object.fromEntries(filters.map(([thing, ids]) => [thing, idsText(ids)])) : undefined
}

/** A UTC day, so many days before another moment. */
export const dayBefore = (nowMs: number, days: number): string => new Date(nowMs - days * DAY_MS).toISOString().slice(0, 10)
const firstOfMonth = (nowMs: number, before: number): number => {
  const now = new Date(nowMs)
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - before, 1)
}

/** Spans that people ask for, of UTC days, each with the step in which it is read well. */
export const spansAt = (nowMs: number) => {
  const weekday = (new Date(nowMs).getUTCDay() + 6) % 7
  const today = dayBefore(nowMs, 0)
  return [
    { id: 'today', text: 'Today', from: today, to: today, step: 'hour' },
    { id: 'week', text: 'This week', from: dayBefore(nowMs, weekday), to: today, step: 'day' },
    { id: 'days30', text: '30 days', from: dayBefore(nowMs, 29), to: today, step: 'day' },
    { id: 'month', text: 'This month', from: dayBefore(firstOfMonth(nowMs, 0), 0), to: today, step: 'day' },
    {
      id: 'lastMonth',
      text: 'Last month',
      from: dayBefore(firstOfMonth(nowMs, 1), 0),
      to: dayBefore(firstOfMonth(nowMs, 0), 1),
      step: 'day',
    },
    { id: 'months12', text: '12 months', from: dayBefore(firstOfMonth(nowMs, 11), 0), to: today, step: 'month' },
  ] as const
}

export type SpanName = ReturnType<typeof spansAt>[number]['id']

/** "2026-11-22", both included. */
type Days = Readonly<{ from: string; to: string }>
/** In ISO 8601; the end is not included. */
export type Moments = Readonly<{ from: string; to: string }>

/** UTC days in moments, from the first one's beginning to the last one's end. */
export const momentsOf = ({ from, to }: Days): Moments => ({
  from: `${from}T00:00:00Z`,
  to: new Date(Date.parse(`${to}T00:00:00Z`) + DAY_MS).toISOString(),
})

/** The time of a step of the span, which may begin before it or end behind it. `place`: its beginning, a UTC day or an hour of one. */
export function stepSpan(view: Days, step: string, place: string): Moments {
  const whole = momentsOf(view)
  const [start, end] = [Date.parse(place), Date.parse(stepEnd(step, place))]
  return {
    from: new Date(Math.max(start, Date.parse(whole.from))).toISOString(),
    to: new Date(Math.min(end, Date.parse(whole.to))).toISOString(),
  }
}

function stepEnd(step: string, place: string): string {
  const start = new Date(place)
  if (step === 'month') start.setUTCMonth(start.getUTCMonth() + 1)
  else start.setTime(start.getTime() + (STEPS_MS[step] ?? DAY_MS))
  return start.toISOString()
}

const STEPS_MS: Readonly<Record<string, number>> = { hour: 3_600_000, day: DAY_MS, week: 7 * DAY_MS }
