/**
 * Receipts in the order of a figure, such as the dearest first. No index serves that: a part looks at 10,000 receipts, newest first, and answers the first of them in that
 * order; the asker puts parts together and says how far they went. Rules: operator.md "Lists"; ledger.md "Reads".
 */

import type { ReceiptRow } from '../columns/receipt.ts'
import type { Connection, Value } from '../sql/connection.ts'
import { among, listText, numbersIn } from '../sql/sql-list.ts'
import { idAt } from './operator-lists.ts'
import { LOOKED_AT_MAX } from './page.ts'
import { FILTERED, filterValues, type ReceiptFilter, type ReceiptsOf } from './receipt-filter.ts'
import { ReceiptPages } from './receipt-pages.ts'

export const RECEIPT_ORDERS = {
  cost: 'r.cost_picos',
  input: 'r.input_tokens + r.cache_read_tokens + r.cache_write_5m_tokens + r.cache_write_1h_tokens',
  output: 'r.output_tokens',
  time: 'r.duration_ms',
} as const
export type ReceiptOrder = keyof typeof RECEIPT_ORDERS

/** All fall. `below`: the last receipt that was shown, and its figure. `after`: the `next` of the part before. Times as in the other lists of receipts. */
export type OrderedReceiptsQuery = ReceiptFilter &
  Readonly<{
    order: ReceiptOrder
    of?: ReceiptsOf
    from?: number
    to: number
    after?: string
    below?: Readonly<{ value: string; requestId: string }>
    limit: number
  }>

/** `values`: the figure of each row. `looked`: how many receipts this part looked at. */
export type OrderedReceiptsPart = Readonly<{ rows: readonly ReceiptRow[]; values: readonly string[]; next: string | null; looked: number }>

type Walked = Readonly<{ numbers: readonly number[]; next: string | null }>

export class OrderedReceipts {
  readonly #db: Connection
  readonly #pages: ReceiptPages

  /** `db`: a connection that gives integers as bigints. */
  constructor(db: Connection, pages = new ReceiptPages(db)) {
    this.#db = db
    this.#pages = pages
  }

  /** Undefined: `after` is no receipt of this key or account. */
  part(query: OrderedReceiptsQuery): OrderedReceiptsPart | undefined {
    return this.#db.transaction(() => {
      const walked = this.#walked(query)
      if (walked === undefined) return undefined
      const found = this.#found(query, walked.numbers)
      const rows = found.map(({ id }) => this.#pages.receipt(id)).filter((row) => row !== undefined)
      return { rows, values: found.map(({ value }) => String(value)), next: walked.next, looked: walked.numbers.length }
    })()
  }

  #walked({ of = {}, from, to, after }: OrderedReceiptsQuery): Walked | undefined {
    if (this.#pages.isWalked(of)) return this.#pages.numbers({ of, from, to, after }, LOOKED_AT_MAX)
    const end = idAt('req', to)
    const rows = this.#db
      .query<{ number: bigint; id: string }, [string, string]>(
        `SELECT number, request_id AS id FROM receipts WHERE request_id < ? AND request_id >= ? ORDER BY request_id DESC LIMIT ${LOOKED_AT_MAX}`,
      )
      .all(after !== undefined && after < end ? after : end, from === undefined ? '' : idAt('req', from))
    return { numbers: rows.map(({ number }) => Number(number)), next: rows.length < LOOKED_AT_MAX ? null : (rows.at(-1)?.id ?? null) }
  }

  #found({ order, of = {}, below, limit, ...filter }: OrderedReceiptsQuery, numbers: readonly number[]) {
    const value = RECEIPT_ORDERS[order]
    const behind = below === undefined ? '' : `AND (${value}, r.request_id) < (CAST(CAST($value AS TEXT) AS BIGINT), $id)`
    const values: Record<string, Value> = {
      numbers: JSON.stringify(numbers),
      rows: limit,
      accounts: listText(of.accountIds),
      ...filterValues(filter),
      ...(below === undefined ? {} : { value: below.value, id: below.requestId }),
    }
    return this.#db
      .query<{ id: string; value: bigint }, Record<string, Value>>(
        `SELECT r.request_id AS id, ${value} AS value FROM receipts r JOIN accounts a ON a.number = r.account_number
           JOIN price_versions p ON p.number = r.price_number JOIN models m ON m.number = p.model_number
           LEFT JOIN upstreams u ON u.number = r.upstream_number
         WHERE r.number IN (${numbersIn('$numbers')}) AND ${FILTERED} AND ${among('a.id', '$accounts')} ${behind}
         ORDER BY value DESC, r.request_id DESC LIMIT $rows`,
      )
      .all(values)
  }
}
