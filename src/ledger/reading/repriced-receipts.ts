/**
 * Receipts under the prices of another catalogue, newest request first: each by its own prompt, a bounded number of rows at a time, and of those only the sums by
 * account and model are kept. Rules: money.md "What if"; ledger.md "Reads".
 */

import { picos } from '../../core/money.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { Prices } from '../../core/pricing.ts'
import { addRepriced, NOTHING_REPRICED, type PastReceipt, type RepricedRow, repriced } from '../../core/reprice.ts'
import { promptOf } from '../../core/usage.ts'
import { longestPromptOf } from '../columns/price-levels.ts'
import type { Connection } from '../sql/connection.ts'
import { idAt, type Range } from './operator-lists.ts'
import type { Paging } from './page.ts'

/** Times are those at which requests came in. `prices`: of the other catalogue, by model. `limit`: rows to look at. */
export type RepriceQuery = Paging & Range & Readonly<{ prices: ReadonlyMap<string, Prices>; accountId: string | undefined }>

/** `earliestAt`: when the last request of the part came in; null: there is none. `next`: the `after` of the next part; null after the last one. */
export type RepricedPart = Readonly<{ rows: readonly RepricedRow[]; earliestAt: number | null; next: string | null }>

type Row = {
  requestId: string
  account: bigint
  price: bigint
  outcome: string
  input: bigint
  output: bigint
  cacheRead: bigint
  cacheWrite5m: bigint
  cacheWrite1h: bigint
  serverToolUses: bigint
  cost: bigint
  waived: bigint
  startedAt: bigint
}
type Account = Readonly<{ id: string; name: string }>
type Version = Readonly<{ modelId: string; longestPrompt: number }>

const LAST_ID = 'req_~'

export function repricedPart(db: Connection, { prices, accountId, from, to, after, limit }: RepriceQuery): RepricedPart {
  const end = to === undefined ? LAST_ID : idAt('req', to)
  const rows = rowsOf(db, after === undefined || after > end ? end : after, from, limit)
  const [accounts, versions] = [remembered(accountBy(db)), remembered(versionBy(db))]
  const sums = new Map<string, RepricedRow>()
  for (const row of rows) {
    const account = accounts(row.account)
    if (accountId !== undefined && account.id !== accountId) continue
    const { modelId, longestPrompt } = versions(row.price)
    const place = `${account.id} ${modelId}`
    const sum = addRepriced(sums.get(place) ?? NOTHING_REPRICED, repriced(receiptOf(row, longestPrompt), prices.get(modelId)))
    sums.set(place, { accountId: account.id, accountName: account.name, modelId, ...sum })
  }
  const last = rows.at(-1)
  return {
    rows: [...sums.values()],
    earliestAt: last === undefined ? null : Number(last.startedAt),
    next: last === undefined || rows.length < limit ? null : last.requestId,
  }
}

/** One statement, so that no snapshot outlives a part. `before`: an id. */
function rowsOf(db: Connection, before: string, from: number | undefined, limit: number): readonly Row[] {
  return db
    .query<Row, [string, string, number]>(
      `SELECT request_id AS "requestId", account_number AS account, price_number AS price, outcome, input_tokens AS input, output_tokens AS output,
         cache_read_tokens AS "cacheRead", cache_write_5m_tokens AS "cacheWrite5m", cache_write_1h_tokens AS "cacheWrite1h",
         server_tool_uses AS "serverToolUses", cost_picos AS cost, waived_picos AS waived, started_at AS "startedAt"
       FROM receipts WHERE request_id < ? AND request_id >= ? ORDER BY request_id DESC LIMIT ?`,
    )
    .all(before, from === undefined ? '' : idAt('req', from), limit)
}

/** A level that a receipt was charged below shows that no pass over its prompt was that long, however much all of them read. */
function receiptOf(row: Row, longestPrompt: number): PastReceipt {
  const usage = {
    input: Number(row.input),
    output: Number(row.output),
    cacheRead: Number(row.cacheRead),
    cacheWrite5m: Number(row.cacheWrite5m),
    cacheWrite1h: Number(row.cacheWrite1h),
    serverToolUses: Number(row.serverToolUses),
  }
  const promptTokens = Math.min(promptOf(usage), longestPrompt)
  return { outcome: row.outcome as Outcome, usage, promptTokens, costPicos: picos(row.cost), waivedPicos: picos(row.waived) }
}

const accountBy =
  (db: Connection) =>
  (number: bigint): Account =>
    found(db.query<Account, [bigint]>('SELECT id, name FROM accounts WHERE number = ?').get(number))

const versionBy =
  (db: Connection) =>
  (number: bigint): Version => {
    const { modelId, group, above } = found(
      db
        .query<{ modelId: string; group: string; above: bigint }, [bigint]>(
          `SELECT m.id AS "modelId", p.price_group AS "group", p.above_prompt_tokens AS above
           FROM price_versions p JOIN models m ON m.number = p.model_number WHERE p.number = ?`,
        )
        .get(number),
    )
    return { modelId, longestPrompt: longestPromptOf({ group, abovePromptTokens: Number(above) }) }
  }

/** Receipts refer to both, so only a damaged ledger lacks one. */
function found<T>(row: T | null): T {
  if (row === null) throw new Error('a receipt names a row that is not there')
  return row
}

/** Asks once for each number. */
function remembered<T>(read: (number: bigint) => T): (number: bigint) => T {
  const known = new Map<bigint, T>()
  return (number) => {
    const value = known.get(number) ?? read(number)
    known.set(number, value)
    return value
  }
}
