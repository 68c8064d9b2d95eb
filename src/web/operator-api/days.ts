/** Ranges of UTC days in queries of the operator's API, and the mistakes in them. Rules: operator-api.md "Errors", "Lists". */

import { t } from 'elysia'
import { dayAt, dayOf } from '../../core/utc.ts'
import { Failure, wrong } from './failure.ts'

const DAY = 'A UTC day, such as 2026-11-30'
const DAYS = 30
const DAYS_MAX = 366

/** Both days are included. */
export const DAY_RANGE = {
  from: t.Optional(t.String({ maxLength: 10, description: DAY })),
  to: t.Optional(t.String({ maxLength: 10, description: `${DAY}, included` })),
}

type Range = Readonly<{ from?: string | undefined; to?: string | undefined }>
/** Whole UTC days since 1970, both included. */
type Days = Readonly<{ fromDay: number; toDay: number }>

/** The days as far as they are said. */
export function daysOf({ from, to }: Range): Partial<Days> | Failure {
  const [fromDay, toDay] = [from === undefined ? undefined : dayOf(from), to === undefined ? undefined : dayOf(to)]
  if (from !== undefined && fromDay === undefined) return wrong('from', DAY)
  if (to !== undefined && toDay === undefined) return wrong('to', DAY)
  return { ...(fromDay === undefined ? {} : { fromDay }), ...(toDay === undefined ? {} : { toDay }) }
}

/** At most a year, for what is put together from many rows: without `to` up to today, without `from` 30 days. */
export function boundedDaysOf(range: Range, now: number): Days | Failure {
  const said = daysOf(range)
  if (said instanceof Failure) return said
  const { toDay = dayAt(now) } = said
  const { fromDay = toDay - DAYS + 1 } = said
  if (fromDay > toDay) return wrong('from', 'The first day is after the last')
  return toDay - fromDay < DAYS_MAX ? { fromDay, toDay } : wrong('from', `At most ${DAYS_MAX} days at once`)
}
