/**
 * Requests in the order of a figure, such as the dearest of a span: the order of its newest 100,000, read in parts between which other readers have their turn. The
 * answer says how many were ordered, and since when, where there are older ones. Rules: operator.md "Lists"; pages.md "Tables".
 */

import { isoTime } from '../../core/utc.ts'
import type { ReceiptRow } from '../../ledger/columns/receipt.ts'
import { isStoredNumber, placeIn, placeText } from '../../ledger/reading/list-place.ts'
import type { OrderedReceiptsPart, OrderedReceiptsQuery } from '../../ledger/reading/ordered-receipts.ts'
import { RECEIPT_ORDERS, type ReceiptOrder } from '../../ledger/reading/ordered-receipts.ts'
import { orderIn } from './list-order.ts'

export const RECEIPT_ORDER = orderIn((Object.keys(RECEIPT_ORDERS) as ReceiptOrder[]).map((order) => `-${order}` as const))
const PARTS_MAX = 10

export type OrderedReceipts = Readonly<{ rows: readonly ReceiptRow[]; next: string | null; among: number; since: string | null }>

type Ask<Failure> = (query: OrderedReceiptsQuery) => Promise<OrderedReceiptsPart | undefined | Failure>
type Wanted = Omit<OrderedReceiptsQuery, 'order' | 'to' | 'after' | 'below' | 'limit'> &
  Readonly<{ order: `-${ReceiptOrder}`; to?: number; after?: string; limit: number }>

/** `now`: what comes later is no part of the order, so that no page moves. Undefined: `after` is no place of this list. */
export async function orderedReceipts<Failure extends Response | string>(
  ask: Ask<Failure>,
  { order: falling, to, after, limit, ...of }: Wanted,
  now: number,
): Promise<OrderedReceipts | undefined | Failure> {
  const place = after === undefined ? undefined : placeIn(after)
  if (after !== undefined && !isPlace(place)) return undefined
  const top = Math.min(to ?? now, Number(place?.top ?? now))
  const order = falling.slice(1) as ReceiptOrder
  const below = place?.id === undefined || place.value === undefined ? {} : { below: { value: place.value, requestId: place.id } }
  let found: readonly Figure[] = []
  let among = 0
  let next: string | null | undefined
  for (let part = 0; part < PARTS_MAX && next !== null; part++) {
    const looked = await ask({ ...of, order, to: top, ...below, ...(next === undefined ? {} : { after: next }), limit: limit + 1 })
    if (looked === undefined || looked instanceof Response || typeof looked === 'string') return looked
    const { rows, values } = looked
    found = [...found, ...rows.map((row, index) => ({ row, value: BigInt(values[index] ?? 0) }))].toSorted(falls).slice(0, limit + 1)
    among += looked.looked
    next = looked.next
  }
  const last = found.length > limit ? found[limit - 1] : undefined
  return {
    rows: found.slice(0, limit).map(({ row }) => row),
    next: last === undefined ? null : placeText({ top: String(top), id: last.row.requestId, value: String(last.value) }),
    among,
    since: next === null || next === undefined ? null : next,
  }
}

type Figure = Readonly<{ row: ReceiptRow; value: bigint }>

function falls(a: Figure, b: Figure): number {
  if (a.value !== b.value) return a.value > b.value ? -1 : 1
  return a.row.requestId > b.row.requestId ? -1 : 1
}

const isPlace = (place: ReturnType<typeof placeIn>): boolean =>
  place !== undefined &&
  /^\d{1,16}$/.test(place.top) &&
  (place.value === undefined || (isStoredNumber(place.value) && !place.value.startsWith('-')))

/** `since`: when the oldest request came that was ordered; null: all of the span were. */
export const orderedDocument = ({ among, since }: OrderedReceipts) => ({ among, since: since === null ? null : isoTime(momentIn(since)) })

/** The moment in a request's id, whose first 48 bits are its time. */
const momentIn = (requestId: string): number => Number.parseInt(requestId.slice(4, 16), 16) || 0
