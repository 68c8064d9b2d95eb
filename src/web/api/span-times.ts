/** The span of the console's overview as its routes are asked for it: given by its edges, or one that ends now. Rules: pages.md "History", "Errors". */

import { t } from 'elysia'
import { DAY_MS, edgeOf } from '../../core/utc.ts'
import { refuse } from './answers.ts'
import { oneOf } from './console-acts.ts'

const SPANS = { hour: 3_600_000, day: DAY_MS, week: 7 * DAY_MS, month: 30 * DAY_MS } as const
type Span = keyof typeof SPANS
const DAYS_MAX = 400
const TIME = 'A day or a time, such as 2026-11-30 or 2026-11-30T12:00:00Z'
const EDGE = t.Optional(t.String({ maxLength: 40, description: TIME }))

export const SPAN_FIELDS = {
  span: t.Optional(oneOf(Object.keys(SPANS) as Span[], 'hour, day, week or month')),
  from: EDGE,
  to: EDGE,
}

/** Unix milliseconds. */
export type Times = Readonly<{ from: number; to: number }>
type Edges = Readonly<{ span?: Span | undefined; from?: string | undefined; to?: string | undefined }>

export function timesOf({ span = 'hour', from, to }: Edges, now: number): Times | Response {
  const end = to === undefined ? now : edgeOf(to, 'end')
  if (end === undefined) return refuse(400, TIME, { field: 'to' })
  const start = from === undefined ? end - SPANS[span] : edgeOf(from, 'start')
  if (start === undefined) return refuse(400, TIME, { field: 'from' })
  if (start >= end) return refuse(400, 'The span ends before it begins', { field: 'from' })
  return end - start <= DAYS_MAX * DAY_MS ? { from: start, to: end } : refuse(400, `At most ${DAYS_MAX} days at once`, { field: 'from' })
}
