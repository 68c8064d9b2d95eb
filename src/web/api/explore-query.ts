/** The question of Explore as it stands in an address, and what is wrong with it, named by field. Rules: pages.md "Explore", "Errors". */

import { type Static, t } from 'elysia'
import {
  BY_MAX,
  DIMENSIONS,
  type Dimension,
  HOURLY_DAYS_MAX,
  MEASURES,
  type Measure,
  ONLY_MAX,
  STEPS,
  type Step,
  TRAFFIC_DIMENSIONS,
  TRAFFIC_MEASURES,
  type TrafficMeasure,
} from '../../core/explore.ts'
import type { TrafficAsked } from '../../core/history/traffic.ts'
import { dayAt, dayOf } from '../../core/utc.ts'
import type { ExploreQuery } from '../../ledger/reading/explore-reads.ts'
import type { ExploreFilters } from '../../ledger/reading/explore-sql.ts'

const DAYS = 30
const DAYS_MAX = 366
const DAY = 'A UTC day such as 2026-11-22'
const day = (description: string) => t.Optional(t.String({ maxLength: 10, description }))
const ids = (what: string) => t.Optional(t.String({ maxLength: 5_000, description: `Only of these ${what}, with commas between` }))

export const EXPLORE_FIELDS = {
  from: day(`${DAY}; without it ${DAYS} days`),
  to: day(`${DAY}, included; without it today`),
  by: t.Optional(
    t.String({ maxLength: 40, description: `What tells sums apart: one or two of ${DIMENSIONS.join(', ')}, with a comma between` }),
  ),
  step: t.Optional(t.String({ maxLength: 10, description: `${STEPS.join(', ')} of UTC; by hour for at most ${HOURLY_DAYS_MAX} days` })),
  measure: t.Optional(
    t.String({
      maxLength: 20,
      description: `By what groups are ordered: ${MEASURES.join(', ')}; for operators also ${TRAFFIC_MEASURES.join(', ')}`,
    }),
  ),
  model: ids('models; a comma in an id is written `\\,`'),
  key: ids('keys'),
  account: ids('accounts'),
  upstream: ids('upstreams'),
  format: ids('formats'),
  outcome: ids('outcomes'),
  tag: ids('tags; (none): without one, (other): those beyond the first 200 of a key and day'),
}
export const EXPLORE_QUERY = t.Object(EXPLORE_FIELDS)
type Query = Static<typeof EXPLORE_QUERY>

/** Whole UTC days since 1970, both included. */
export type Explore = Readonly<{ asked: Omit<ExploreQuery, 'after'>; step: Step; measure: Measure; fromDay: number; toDay: number }>
export type Mistake = Readonly<{ field: string; message: string }>

/** `known`: by what this asker may tell sums apart. `others`: measures of the asker that are no sums. */
export function exploreOf(
  query: Query,
  now: number,
  known: readonly Dimension[],
  others: readonly TrafficMeasure[] = [],
): Explore | Mistake {
  const { measure = 'spend' } = query
  const frame = frameOf(query, now, { by: known, only: known })
  if ('field' in frame) return frame
  if (!isOneOf(MEASURES, measure)) return { field: 'measure', message: `One of ${[...MEASURES, ...others].join(', ')}` }
  const { fromDay, toDay, ...asked } = frame
  return { asked, step: asked.step, measure, fromDay, toDay }
}

/** A question to the history of requests, which keeps neither keys nor accounts, formats, outcomes or tags. */
export type Traffic = Readonly<{ asked: Omit<TrafficAsked, 'isFile'>; fromDay: number; toDay: number }>

export function trafficOf(query: Query, measure: TrafficMeasure, now: number): Traffic | Mistake {
  const by = measure === 'refusals' ? TRAFFIC_DIMENSIONS : TRAFFIC_FILTERS
  const frame = frameOf(query, now, { by, only: TRAFFIC_FILTERS })
  if ('field' in frame) return frame
  const { fromDay, toDay, ...asked } = frame
  return { asked: { ...asked, measure }, fromDay, toDay }
}

const TRAFFIC_FILTERS = ['model', 'upstream'] as const

/** What both kinds of questions have. `known`: by what things may be told apart and chosen. */
function frameOf<By extends string>(query: Query, now: number, known: Readonly<{ by: readonly By[]; only: readonly Dimension[] }>) {
  const days = daysOf(query, now)
  if ('field' in days) return days
  const { fromDay, toDay } = days
  const by = listOf(query.by ?? 'model')
  const things = by.filter((one) => isOneOf(known.by, one))
  if (by.length > BY_MAX || new Set(by).size < by.length || things.length < by.length)
    return { field: 'by', message: `One or two of ${known.by.join(', ')}, with a comma between` }
  const { step = 'day' } = query
  if (!isOneOf(STEPS, step)) return { field: 'step', message: `One of ${STEPS.join(', ')}` }
  if (step === 'hour' && toDay - fromDay >= HOURLY_DAYS_MAX)
    return { field: 'step', message: `By hour at most ${HOURLY_DAYS_MAX} days at once` }
  const only = onlyOf(query, known.only)
  return 'field' in only ? only : { fromDay, toDay, fromHour: fromDay * 24, toHour: toDay * 24 + 23, by: things, step, only: only.ids }
}

function onlyOf(query: Query, known: readonly Dimension[]): Readonly<{ ids: ExploreFilters }> | Mistake {
  const given = DIMENSIONS.filter((dimension) => query[dimension] !== undefined && query[dimension] !== '')
  const foreign = given.find((dimension) => !known.includes(dimension))
  if (foreign !== undefined) return { field: foreign, message: 'There is no such filter here' }
  const long = given.find((dimension) => listOf(query[dimension] ?? '').length > ONLY_MAX)
  if (long !== undefined) return { field: long, message: `At most ${ONLY_MAX} at once` }
  return { ids: Object.fromEntries(given.map((dimension) => [dimension, listOf(query[dimension] ?? '')])) }
}

function daysOf({ from, to }: Query, now: number): Readonly<{ fromDay: number; toDay: number }> | Mistake {
  const toDay = to ? dayOf(to) : dayAt(now)
  if (toDay === undefined) return { field: 'to', message: DAY }
  const fromDay = from ? dayOf(from) : toDay - DAYS + 1
  if (fromDay === undefined) return { field: 'from', message: DAY }
  if (fromDay > toDay) return { field: 'from', message: 'The first day is after the last' }
  return toDay - fromDay < DAYS_MAX ? { fromDay, toDay } : { field: 'from', message: `At most ${DAYS_MAX} days at once` }
}

/** A comma that is part of an id has a backslash before it: of all ids only those of models may have one, and none has a backslash. */
export const listOf = (text: string): readonly string[] =>
  text
    .split(/(?<!\\),/)
    .map((one) => one.trim().replaceAll('\\,', ','))
    .filter((one) => one !== '')
const isOneOf = <T extends string>(known: readonly T[], text: string): text is T => known.some((one) => one === text)
