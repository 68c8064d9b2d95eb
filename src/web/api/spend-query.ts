/** The queries of pages for an account's spend and requests, and the mistakes in them, named by field. Rules: pages.md "Spend", "Errors". */

import { type Static, t } from 'elysia'
import { TAG_PATTERN } from '../../core/spend-tag.ts'
import { dayAt, dayOf, edgeOf } from '../../core/utc.ts'
import { PLACE_CHARS_MAX } from '../../ledger/reading/list-place.ts'
import { refuse } from './answers.ts'
import { RECEIPT_ORDER } from './ordered-receipts.ts'
import { REQUEST_LISTS, receiptFilterOf, values, valuesIn } from './value-lists.ts'

const DAYS = 30
const DAYS_MAX = 366
const DATE = 'A UTC day such as 2026-11-22'
const TIME = 'A UTC day such as 2026-11-22, or a time with its zone'
const DATE_PATTERN = '^[0-9]{4}-[0-9]{2}-[0-9]{2}$'
const TIME_PATTERN = '^[0-9]{4}-[0-9]{2}-[0-9]{2}(T.{1,30})?$'

const TAG = t.String({ pattern: TAG_PATTERN, description: 'A tag of requests: 1 to 64 letters, digits, ".", "_", ":", "/" and "-"' })

const OF = {
  key: t.Optional(t.String({ minLength: 1, maxLength: 100, description: 'The id of a key' })),
  model: t.Optional(t.String({ minLength: 1, maxLength: 1_000, description: 'The id of a model' })),
}

export const SPEND_QUERY = t.Object({
  from: t.Optional(t.String({ pattern: DATE_PATTERN, description: DATE })),
  to: t.Optional(t.String({ pattern: DATE_PATTERN, description: DATE })),
  by: t.Union([t.Literal('model'), t.Literal('key'), t.Literal('tag')], { default: 'model', description: 'By model, key or tag' }),
  ...OF,
  tag: t.Optional(TAG),
})

const SPAN = {
  from: t.Optional(t.String({ pattern: TIME_PATTERN, description: TIME })),
  to: t.Optional(t.String({ pattern: TIME_PATTERN, description: `${TIME}; a day counts whole` })),
}

export const STATEMENT_QUERY = t.Object(SPAN)

const FILTERS = {
  ...SPAN,
  ...REQUEST_LISTS,
  key: values('keys'),
  tag: t.Optional(TAG),
}
const LISTS = ['key', 'model', 'outcome', 'format'] as const

export const REQUESTS_FILE_QUERY = t.Object(FILTERS)

export const REQUESTS_QUERY = t.Object({
  ...FILTERS,
  order: RECEIPT_ORDER,
  after: t.Optional(t.String({ minLength: 1, maxLength: PLACE_CHARS_MAX, description: 'The end of the page before' })),
  limit: t.Optional(t.String({ pattern: '^([1-9][0-9]?|1[0-9]{2}|200)$', description: '1 to 200 rows' })),
})

/** The first and the last day, both included, as UTC days since 1970. */
type Days = Readonly<{ fromDay: number; toDay: number }>

export function daysOf({ from, to }: Pick<Static<typeof SPEND_QUERY>, 'from' | 'to'>, now: number): Days | Response {
  const toDay = to === undefined ? dayAt(now) : dayOf(to)
  if (toDay === undefined) return refuse(400, DATE, { field: 'to' })
  const fromDay = from === undefined ? toDay - DAYS + 1 : dayOf(from)
  if (fromDay === undefined) return refuse(400, DATE, { field: 'from' })
  if (fromDay > toDay) return refuse(400, 'The first day is after the last', { field: 'from' })
  return toDay - fromDay < DAYS_MAX ? { fromDay, toDay } : refuse(400, `At most ${DAYS_MAX} days at once`, { field: 'from' })
}

/** A span in Unix milliseconds: from `from` on, and before `to`. */
type Span = Readonly<{ from?: number; to?: number }>

export function spanOf(query: Static<typeof STATEMENT_QUERY>): Span | Response {
  const from = query.from === undefined ? undefined : edgeOf(query.from, 'start')
  if (query.from !== undefined && from === undefined) return refuse(400, TIME, { field: 'from' })
  const to = query.to === undefined ? undefined : edgeOf(query.to, 'end')
  if (query.to !== undefined && to === undefined) return refuse(400, TIME, { field: 'to' })
  if (from !== undefined && to !== undefined && from >= to) return refuse(400, 'The beginning is after the end', { field: 'from' })
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
}

/** The filters that a list and a file of requests have in common. */
export function filtersOf(query: Static<typeof REQUESTS_FILE_QUERY>) {
  const span = spanOf(query)
  if (span instanceof Response) return span
  const listed = valuesIn(query, LISTS)
  if (listed instanceof Response) return listed
  return {
    ...span,
    ...receiptFilterOf(listed),
    ...(listed.key === undefined ? {} : { keyIds: listed.key }),
    ...(query.tag === undefined ? {} : { tag: query.tag }),
  }
}

export const thingsOf = ({ key, model }: Readonly<{ key?: string | undefined; model?: string | undefined }>) => ({
  ...(key === undefined ? {} : { keyId: key }),
  ...(model === undefined ? {} : { modelId: model }),
})
