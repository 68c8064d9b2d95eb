/** What was charged and what it cost us, by day, account, model and upstream, newest day first: sums of the roll-ups, a part at a time. Rules: money.md "Margin"; ledger.md "Reads". */

import { type Picos, picos } from '../../core/money.ts'
import type { Connection } from '../sql/connection.ts'
import { listText, textsIn } from '../sql/sql-list.ts'

/** Ids of accounts and models, and names of upstreams; absent: all. */
type MarginFilter = Partial<Readonly<Record<'accountIds' | 'modelIds' | 'upstreams', readonly string[] | undefined>>>
/** Whole UTC days since 1970, both included. `after`: the `next` of the part before. */
export type MarginQuery = MarginFilter & Readonly<{ fromDay: number; toDay: number; after?: string | undefined }>

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

/** How many rows a part looks at, whatever it is filtered by; rows of the last place count to it. */
const LOOKED_AT = 5_000
const PLACE = /^\d{1,9}:\d{1,15}:\d{1,15}:\d{1,15}$/
const BEYOND_ALL = Number.MAX_SAFE_INTEGER

const sumAs = (what: string, name: string): string => `CAST(sum(${what}) AS BIGINT) AS "${name}"`

const PLACED = '(day, account_number, model_number, upstream_number)'
const ORDER = 'ORDER BY day DESC, account_number DESC, model_number DESC, upstream_number DESC'
const BEHIND = `day BETWEEN $fromDay AND $toDay AND ${PLACED} < ($day, $account, $model, $upstream)`
const LAST = `SELECT day, account_number AS account, model_number AS model, upstream_number AS upstream
  FROM margin_daily WHERE ${BEHIND} ${ORDER} LIMIT 1 OFFSET $looked - 1`

const numberAmong = (column: string, table: string, name: string, parameter: string): string =>
  `(CAST(${parameter} AS TEXT) IS NULL OR ${column} IN (SELECT number FROM ${table} WHERE ${name} IN (${textsIn(parameter)})))`

const SUMS = `SELECT day, account_number, model_number, upstream_number, ${sumAs('requests', 'requests')}, ${sumAs('calls', 'calls')}, ${sumAs('cost_picos', 'charged')},
    ${sumAs('waived_picos', 'waived')}, ${sumAs('upstream_cost_picos', 'receiptsCost')}, ${sumAs('calls_cost_picos', 'callsCost')}, ${sumAs('cache_lost_picos', 'cacheLost')}
  FROM margin_daily WHERE ${BEHIND} AND ${PLACED} >= ($lastDay, $lastAccount, $lastModel, $lastUpstream)
    AND ${numberAmong('account_number', 'accounts', 'id', '$accounts')} AND ${numberAmong('model_number', 'models', 'id', '$models')}
    AND ${numberAmong('upstream_number', 'upstreams', 'name', '$upstreams')}
  GROUP BY day, account_number, model_number, upstream_number`

const ROWS_OF_PART = `SELECT x.*, a.id AS "accountId", a.name AS "accountName", m.id AS "modelId", u.name AS upstream
  FROM (${SUMS}) x JOIN accounts a ON a.number = x.account_number JOIN models m ON m.number = x.model_number JOIN upstreams u ON u.number = x.upstream_number
  ${ORDER}`

type Row = Record<'day' | 'account_number' | 'model_number' | 'upstream_number' | 'requests' | 'calls', bigint> &
  Record<'charged' | 'waived' | 'receiptsCost' | 'callsCost' | 'cacheLost', bigint> &
  Record<'accountId' | 'accountName' | 'modelId' | 'upstream', string>

type Place = Record<'day' | 'account' | 'model' | 'upstream', number>
type Behind = Place & Record<'fromDay' | 'toDay', number>
type Given = Behind &
  Record<'lastDay' | 'lastAccount' | 'lastModel' | 'lastUpstream', number> &
  Record<'accounts' | 'models' | 'upstreams', string | null>

/** Undefined: `after` is no place. */
export function marginPart(db: Connection, query: MarginQuery, looked = LOOKED_AT): MarginPart | undefined {
  const { fromDay, toDay, accountIds, modelIds, upstreams, after } = query
  if (after !== undefined && !PLACE.test(after)) return undefined
  const [day = BEYOND_ALL, account = BEYOND_ALL, model = BEYOND_ALL, upstream = BEYOND_ALL] = after?.split(':').map(Number) ?? []
  const behind = { fromDay, toDay, day, account, model, upstream }
  const found = db.query<Record<keyof Place, bigint>, [Behind & { looked: number }]>(LAST).get({ ...behind, looked })
  const last = {
    day: Number(found?.day ?? 0),
    account: Number(found?.account ?? 0),
    model: Number(found?.model ?? 0),
    upstream: Number(found?.upstream ?? 0),
  }
  const rows = db.query<Row, [Given]>(ROWS_OF_PART).all({
    ...behind,
    lastDay: last.day,
    lastAccount: last.account,
    lastModel: last.model,
    lastUpstream: last.upstream,
    accounts: listText(accountIds),
    models: listText(modelIds),
    upstreams: listText(upstreams),
  })
  return { rows: rows.map(rowOf), next: found ? [last.day, last.account, last.model, last.upstream].join(':') : null }
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
