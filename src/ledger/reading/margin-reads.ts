/** What was charged and what it cost us, by day, account, model and upstream, newest day first: sums of the roll-ups, a part at a time. Rules: money.md "Margin"; ledger.md "Reads". */

import { type Picos, picos } from '../../core/money.ts'
import type { Connection } from '../sql/connection.ts'

/** Whole UTC days since 1970, both included. `after`: the `next` of the part before. */
export type MarginQuery = Readonly<{ fromDay: number; toDay: number; accountId?: string | undefined; after?: string | undefined }>

/** Sums over receipts and calls of which we know what they cost us. */
export type MarginSums = Readonly<{
  requests: number
  /** Calls that no receipt covers. */
  calls: number
  /** What customers were charged, and the price of what they were not. */
  chargedPicos: Picos
  waivedPicos: Picos
  /** What the calls of the receipts cost, and those without one. */
  receiptsCostPicos: Picos
  callsCostPicos: Picos
  cacheLostPicos: Picos
}>

export type MarginRow = MarginSums & Readonly<{ day: number; accountId: string; accountName: string; modelId: string; upstream: string }>
export type MarginPart = Readonly<{ rows: readonly MarginRow[]; next: string | null }>

/** How many rows a part gives. */
const ROWS = 2_000
const PLACE = /^\d{1,9}:\d{1,15}:\d{1,15}:\d{1,15}$/
const BEYOND_ALL = Number.MAX_SAFE_INTEGER

const sumAs = (what: string, name: string): string => `CAST(sum(${what}) AS BIGINT) AS "${name}"`

const SUMS = `SELECT day, account_number, model_number, upstream_number, ${sumAs('requests', 'requests')}, ${sumAs('calls', 'calls')}, ${sumAs('cost_picos', 'charged')},
    ${sumAs('waived_picos', 'waived')}, ${sumAs('upstream_cost_picos', 'receiptsCost')}, ${sumAs('calls_cost_picos', 'callsCost')}, ${sumAs('cache_lost_picos', 'cacheLost')}
  FROM margin_daily WHERE day BETWEEN $fromDay AND $toDay AND (day, account_number, model_number, upstream_number) < ($day, $account, $model, $upstream)
    AND (CAST($accountId AS TEXT) IS NULL OR account_number = (SELECT number FROM accounts WHERE id = $accountId))
  GROUP BY day, account_number, model_number, upstream_number
  ORDER BY day DESC, account_number DESC, model_number DESC, upstream_number DESC LIMIT ${ROWS}`

const ROWS_OF_PART = `SELECT x.*, a.id AS "accountId", a.name AS "accountName", m.id AS "modelId", u.name AS upstream
  FROM (${SUMS}) x JOIN accounts a ON a.number = x.account_number JOIN models m ON m.number = x.model_number JOIN upstreams u ON u.number = x.upstream_number
  ORDER BY day DESC, account_number DESC, model_number DESC, upstream_number DESC`

type Row = Record<'day' | 'account_number' | 'model_number' | 'upstream_number' | 'requests' | 'calls', bigint> &
  Record<'charged' | 'waived' | 'receiptsCost' | 'callsCost' | 'cacheLost', bigint> &
  Record<'accountId' | 'accountName' | 'modelId' | 'upstream', string>

type Given = Record<'fromDay' | 'toDay' | 'day' | 'account' | 'model' | 'upstream', number> & { accountId: string | null }

/** Undefined: `after` is no place. */
export function marginPart(db: Connection, { fromDay, toDay, accountId, after }: MarginQuery): MarginPart | undefined {
  if (after !== undefined && !PLACE.test(after)) return undefined
  const [day = BEYOND_ALL, account = BEYOND_ALL, model = BEYOND_ALL, upstream = BEYOND_ALL] = after?.split(':').map(Number) ?? []
  const found = db.query<Row, [Given]>(ROWS_OF_PART).all({ fromDay, toDay, accountId: accountId ?? null, day, account, model, upstream })
  const last = found.length < ROWS ? undefined : found.at(-1)
  const next = last === undefined ? null : [last.day, last.account_number, last.model_number, last.upstream_number].join(':')
  return { rows: found.map(rowOf), next }
}

const rowOf = ({ accountId, accountName, modelId, upstream, ...row }: Row): MarginRow => ({
  day: Number(row.day),
  accountId,
  accountName,
  modelId,
  upstream,
  requests: Number(row.requests),
  calls: Number(row.calls),
  chargedPicos: picos(row.charged),
  waivedPicos: picos(row.waived),
  receiptsCostPicos: picos(row.receiptsCost),
  callsCostPicos: picos(row.callsCost),
  cacheLostPicos: picos(row.cacheLost),
})
