/**
 * Receipts as operators see them: those of a key or account by its own pages, all others by request id, which is the order in which requests came in.
 * Rules: operator.md "Lists"; ledger.md "Pages".
 */

import type { ReceiptRow } from '../columns/receipt.ts'
import type { Connection } from '../sql/connection.ts'
import type { AttemptRow } from './attempt-rows.ts'
import { idAt, type Range } from './operator-lists.ts'
import { LOOKED_AT_MAX, type Page, type Paging } from './page.ts'
import { NO_UPSTREAM, type ReceiptFilter, type ReceiptsOf } from './receipt-filter.ts'
import { ReceiptPages } from './receipt-pages.ts'

/** `only`: receipts that cost more than was held, or receipts that were waived. */
export type ReceiptsQuery = Paging &
  Partial<Range> &
  ReceiptFilter &
  Readonly<{ of?: ReceiptsOf; only?: 'over hold' | 'waived' | undefined }>

type Candidate = Record<'requestId' | 'keyId' | 'accountId' | 'modelId' | 'outcome' | 'format' | 'upstream' | 'basis', string> & {
  tag: string | null
}

/** The conditions of `only`; each is that of an index. */
const ONLY = { 'over hold': 'AND cost_picos > hold_picos', waived: 'AND waived_picos > 0' }
const LAST_ID = 'req_~'
const TOGETHER = 512

export class OperatorReceipts {
  readonly #db: Connection
  readonly #pages: ReceiptPages

  /** `db`: a connection that gives integers as bigints. */
  constructor(db: Connection) {
    this.#db = db
    this.#pages = new ReceiptPages(db)
  }

  /** Of keys or accounts, times are those of settles; otherwise the times at which requests came in. Undefined: `after` is no place in this list. */
  list({ of = {}, only, ...query }: ReceiptsQuery): Page<ReceiptRow> | undefined {
    return only === undefined && this.#pages.isWalked(of) ? this.#pages.page({ ...query, of }) : this.#byRequest({ ...query, of, only })
  }

  /** Undefined: there is no such receipt. */
  receipt(requestId: string): ReceiptRow | undefined {
    return this.#pages.receipt(requestId)
  }

  /** The attempts of a request, also if it has no receipt. */
  attempts(requestId: string): readonly AttemptRow[] {
    return this.#pages.attempts(requestId)
  }

  #byRequest(query: ReceiptsQuery): Page<ReceiptRow> {
    const found: string[] = []
    let looked = 0
    let last: string | undefined
    for (const row of this.#candidates(query)) {
      if (found.length === query.limit || looked === LOOKED_AT_MAX) return { rows: this.#rowsOf(found), next: last ?? null }
      if (isWanted(row, query)) found.push(row.requestId)
      looked++
      last = row.requestId
    }
    return { rows: this.#rowsOf(found), next: null }
  }

  /** Receipts, newest first, read in batches. The joins keep their order, so that receipts are read first. */
  *#candidates({ from, to, after, only }: ReceiptsQuery): Iterable<Candidate> {
    const before = [after, to === undefined ? undefined : idAt('req', to)].reduce<string>(
      (earliest, id) => (id === undefined || id > earliest ? earliest : id),
      LAST_ID,
    )
    const query = this.#db.query<Candidate, [string, string]>(
      `SELECT request_id AS "requestId", k.id AS "keyId", a.id AS "accountId", m.id AS "modelId", coalesce(u.name, '${NO_UPSTREAM}') AS upstream, format, basis, outcome, tag
       FROM (SELECT request_id, key_number, account_number, price_number, upstream_number, format, basis, outcome, tag FROM receipts
           WHERE request_id < ? AND request_id >= ? ${only === undefined ? '' : ONLY[only]} ORDER BY request_id DESC LIMIT ${TOGETHER}) r
         CROSS JOIN keys k CROSS JOIN accounts a CROSS JOIN price_versions p CROSS JOIN models m
         LEFT JOIN upstreams u ON u.number = r.upstream_number
       WHERE k.number = r.key_number AND a.number = r.account_number AND p.number = r.price_number AND m.number = p.model_number
       ORDER BY request_id DESC`,
    )
    const first = from === undefined ? '' : idAt('req', from)
    for (let next = before; ; ) {
      const rows = query.all(next, first)
      yield* rows
      const last = rows.at(-1)
      if (last === undefined || rows.length < TOGETHER) return
      next = last.requestId
    }
  }

  #rowsOf(requestIds: readonly string[]): readonly ReceiptRow[] {
    return requestIds.map((id) => this.#pages.receipt(id)).filter((row) => row !== undefined)
  }
}

const isAmong = (values: readonly string[] | undefined, value: string): boolean => values === undefined || values.includes(value)

const isWanted = (row: Candidate, { of = {}, modelIds, outcomes, upstreams, formats, usageSource, tag }: ReceiptsQuery): boolean =>
  isAmong(of.keyIds, row.keyId) &&
  isAmong(of.accountIds, row.accountId) &&
  isAmong(modelIds, row.modelId) &&
  isAmong(outcomes, row.outcome) &&
  isAmong(upstreams, row.upstream) &&
  isAmong(formats, row.format) &&
  (usageSource === undefined || row.basis === usageSource) &&
  (tag === undefined || row.tag === tag)
