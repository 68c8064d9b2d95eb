/** Fields that the routes share: in bodies, queries and lists. A field that is not known is refused. Rules: operator-api.md "Errors", "Lists". */

import type { TProperties, TSchema, TUnsafe } from '@sinclair/typebox'
import { t } from 'elysia'
import { lineOf } from '../../core/line.ts'
import { BALANCE_PICOS_MAX, type Picos, parseUsd, toExactUsdText, ZERO } from '../../core/money.ts'
import { edgeOf } from '../../core/utc.ts'
import type { Page } from '../../ledger/reading/page.ts'
import { type Failure, wrong } from './failure.ts'

const PAGE_MAX = 1_000
const PAGE = 50
const AMOUNT = 'An amount in USD with all digits, such as "25" or "0.50"'
const TIME = 'A day or a time, such as 2026-11-30 or 2026-11-30T12:00:00Z'

/** What is sent to a route. */
export const sent = <P extends TProperties>(properties: P, options: { title?: string; description?: string } = {}) =>
  t.Object(properties, { additionalProperties: false, ...options })

export const orNull = <S extends TSchema>(schema: S, description?: string) =>
  t.Union([schema, t.Null()], description === undefined ? {} : { description })
export const oneOf = <const Word extends string>(words: readonly Word[], description: string) =>
  t.String({ pattern: `^(${words.join('|')})$`, enum: [...words], description }) as unknown as TUnsafe<Word>

export const REASON = t.Optional(t.String({ maxLength: 1_000, description: 'Why, for the audit log: at most 200 printable characters' }))
export const WHY = sent({ reason: REASON }, { title: 'Reason' })
export const USD = t.String({ maxLength: 40, description: AMOUNT })
export const REF = t.Optional(t.String({ maxLength: 1_000, description: 'The payment’s reference, which is credited once' }))
export const ID = t.String({ maxLength: 64 })
export const EXACT = (description: string) => t.String({ description: `USD with all digits: ${description}` })
export const AT = (description: string) => t.String({ description: `ISO 8601, UTC: ${description}` })
export const AT_OR_NULL = (description: string) => orNull(t.String(), `ISO 8601, UTC: ${description}`)

export const PAGING = {
  limit: t.Optional(t.Integer({ description: `Rows a page, 1 to ${PAGE_MAX}; ${PAGE} without` })),
  cursor: t.Optional(t.String({ maxLength: 200, description: 'The `next_cursor` of the page before' })),
}
export const RANGE = {
  from: t.Optional(t.String({ maxLength: 40, description: TIME })),
  to: t.Optional(t.String({ maxLength: 40, description: `${TIME}; a day counts whole, a time is excluded` })),
}

export const listOf = <S extends TSchema>(row: S, title: string) =>
  t.Object(
    { data: t.Array(row), has_more: t.Boolean(), next_cursor: orNull(t.String(), 'Send it as `cursor` for the next page') },
    { title, description: 'A page, newest first' },
  )

export const listDocument = <Row, Document>({ rows, next }: Page<Row>, documentOf: (row: Row) => Document) => ({
  data: rows.map(documentOf),
  has_more: next !== null,
  next_cursor: next,
})

type Paged = Readonly<{ limit?: number | undefined; cursor?: string | undefined }>
export const pagingOf = ({ limit = PAGE, cursor }: Paged) => ({ limit, ...(cursor === undefined ? {} : { after: cursor }) })

/** Elysia does not name the field of a number in a query that is out of its bounds, so they are looked at here, for every route. */
export const problemOfLimit = (query: Readonly<Record<string, unknown>>): Failure | undefined => {
  const { limit } = query
  return typeof limit !== 'number' || (limit >= 1 && limit <= PAGE_MAX) ? undefined : wrong('limit', `Rows a page, 1 to ${PAGE_MAX}`)
}

/** The place of a list that is ordered by numbers; a `Failure`: the cursor is none of it. */
export const numberedPagingOf = (paged: Paged): ReturnType<typeof pagingOf> | Failure =>
  paged.cursor === undefined || /^\d{1,15}$/.test(paged.cursor) ? pagingOf(paged) : noCursor()
export const noCursor = (): Failure => wrong('cursor', 'Expected the next_cursor of a page of this list')

type Span = Readonly<{ from?: number; to?: number }>

/** A range that ends with a day includes all of that day. */
export function spanOf({ from, to }: Readonly<{ from?: string | undefined; to?: string | undefined }>): Span | Failure {
  const [start, end] = [from === undefined ? undefined : edgeOf(from, 'start'), to === undefined ? undefined : edgeOf(to, 'end')]
  if (from !== undefined && start === undefined) return wrong('from', TIME)
  if (to !== undefined && end === undefined) return wrong('to', TIME)
  if (start !== undefined && end !== undefined && start >= end) return wrong('from', 'The beginning is not before the end')
  return { ...(start === undefined ? {} : { from: start }), ...(end === undefined ? {} : { to: end }) }
}

/** An amount of 0 or more; null: none was sent. */
export function usdOf(field: string, text: string): Picos | Failure {
  const amount = parseUsd(text.trim())
  if (amount === undefined) return wrong(field, AMOUNT)
  return amount > BALANCE_PICOS_MAX || amount < -BALANCE_PICOS_MAX
    ? wrong(field, `At most ${toExactUsdText(BALANCE_PICOS_MAX)} USD`)
    : amount
}

/** An amount that is more than 0. */
export function paymentOf(field: string, text: string): Picos | Failure {
  const amount = usdOf(field, text)
  return typeof amount === 'bigint' && amount <= ZERO ? wrong(field, 'More than 0 USD') : amount
}

/** The reference as it is booked; '' where there is none. */
export const refOf = (text: string | undefined): string | Failure =>
  text === undefined ? '' : (lineOf(text) ?? wrong('ref', 'A reference has 1 to 200 printable characters'))
