/** The query of the usage routes: a span of time, filters, a page. Rules: requests.md "Usage". */

import { t } from 'elysia'
import { OUTCOMES } from '../core/outcome.ts'
import { invalid, type Refusal } from '../core/refusal.ts'
import { TAG_PATTERN } from '../core/spend-tag.ts'
import { dayOf, dayText, edgeOf } from '../core/utc.ts'
import type { DayPlace } from '../ledger/reading/reports.ts'

const TIME = 'a date such as 2026-11-22, or a time with its zone such as 2026-11-22T10:00:00Z'
const DATE = 'a date such as 2026-11-22'
const PAGE_MAX = 1_000
const PAGE = 100

/** Uses `pattern`, not `format`: the error of a failed `format` does not name the field. */
export const REQUESTS_QUERY = t.Object({
  from: t.Optional(t.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}(T.{1,30})?$', description: TIME })),
  to: t.Optional(
    t.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}(T.{1,30})?$', description: `${TIME}; a date alone includes its whole day` }),
  ),
  model: t.Optional(t.String({ maxLength: 1_000, description: 'the id of a model' })),
  outcome: t.Optional(t.String({ pattern: `^(${OUTCOMES.join('|')})$`, description: `one of ${OUTCOMES.join(', ')}` })),
  tag: t.Optional(
    t.String({ pattern: TAG_PATTERN, description: 'the tag of requests, 1 to 64 letters, digits, ".", "_", ":", "/" and "-"' }),
  ),
  limit: t.Optional(t.String({ pattern: '^([1-9][0-9]{0,2}|1000)$', description: `a whole number, 1 to ${PAGE_MAX}` })),
  cursor: t.Optional(t.String({ maxLength: 200, description: 'the `next_cursor` of the page before' })),
  format: t.Optional(t.String({ pattern: '^(json|csv)$', description: 'json or csv' })),
})

export const DAILY_QUERY = t.Object({
  from: t.Optional(t.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$', description: DATE })),
  to: t.Optional(t.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$', description: DATE })),
  model: t.Optional(t.String({ maxLength: 1_000, description: 'the id of a model' })),
  cursor: t.Optional(t.String({ maxLength: 2_000, description: 'the `next_cursor` of the page before' })),
})

export const limitOf = (text: string | undefined): number => (text === undefined ? PAGE : Number(text))

/** Unix milliseconds. For a date without a time `edge` decides: `start` is the beginning of the UTC day, `end` its end. */
export const timeOf = (field: 'from' | 'to', text: string, edge: 'start' | 'end'): number | Refusal =>
  edgeOf(text, edge) ?? invalid(field, `Input should be ${TIME}`)

/** Whole UTC days since 1970. */
export const dateOf = (field: 'from' | 'to', text: string): number | Refusal => dayOf(text) ?? invalid(field, `Input should be ${DATE}`)

/** The cursor of the next page, opaque to clients: the page's last request id in base64url. The ledger checks that the request is one of this key. */
export const cursorOf = (requestId: string): string => Buffer.from(requestId, 'utf8').toString('base64url')

/** The request id inside a cursor; undefined when the text is not in the form that `cursorOf` writes. */
export function placeOf(cursor: string): string | undefined {
  const requestId = Buffer.from(cursor, 'base64url').toString('utf8')
  return requestId !== '' && cursorOf(requestId) === cursor ? requestId : undefined
}

/**
 * The cursor of the next page of days: the page's last day and model id, such as `2026-11-22 claude-sonnet-5-5`, in base64url; null when there is no next
 * page.
 */
export const dayCursorOf = (last: DayPlace | undefined): string | null =>
  last === undefined ? null : Buffer.from(`${dayText(last.day)} ${last.modelId}`, 'utf8').toString('base64url')

export function dayPlaceOf(cursor: string): DayPlace | undefined {
  const text = Buffer.from(cursor, 'base64url').toString('utf8')
  const [date, modelId] = [text.slice(0, 10), text.slice(11)]
  const day = dayOf(date)
  const place = day !== undefined && modelId !== '' ? { day, modelId } : undefined
  return place !== undefined && dayCursorOf(place) === cursor ? place : undefined
}
