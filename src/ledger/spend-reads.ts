/**
 * What an account spent, by day and model or key: sums of the roll-ups, a part at a time in the order of its keys. Rules: ledger.md "Roll-ups", "Reads".
 */

import type { Database } from 'bun:sqlite'
import { picos } from '../core/money.ts'
import { type Rates, savedByCache } from '../core/pricing.ts'
import type { SpendPart, SpendQuestion, SpendRow } from './account-reports.ts'
import type { QuestionOf } from './reports.ts'

/** The keys of one account, and what is asked of them. Null: all keys, or models. */
type Walk = Readonly<{ account: number; onlyKey: number | null; onlyModel: number | null }>

type SumRow = Record<'day' | 'requests' | 'cost' | 'waived' | 'estimated', bigint> &
  Record<'input' | 'output' | 'cacheRead' | 'cacheWrite5m' | 'cacheWrite1h' | 'serverToolUses', bigint> &
  Record<`${keyof Rates}Rate`, bigint> & { id: string; name: string }

/** The place of a roll-up in the order of the walk, its numbers joined by colons. */
const BEFORE_ALL = '0:0:0:0'
const PLACE = /^\d{1,15}:\d{1,15}:\d{1,15}:\d{1,15}$/

/** Roll-ups that a part looks at. By key hardly two of them are one row, and a row costs more than a look. */
const LOOKED_AT_MAX = { day: 10_000, model: 10_000, key: 2_000 }

/** The order of the joins is kept, so that the keys lead. */
const WALK = `FROM keys k CROSS JOIN usage_daily u ON u.key_number = k.number
  WHERE k.account_number = $account AND k.number >= $key AND ($onlyKey IS NULL OR k.number = $onlyKey) AND u.day BETWEEN $fromDay AND $toDay
    AND (k.number, u.day, u.model_number, u.price_number) > ($key, $day, $model, $price)
  ORDER BY k.number, u.day, u.model_number, u.price_number`
const LAST = `SELECT k.number || ':' || u.day || ':' || u.model_number || ':' || u.price_number AS place ${WALK} LIMIT 1 OFFSET $looked - 1`

const BY = {
  day: { id: "''", name: "''", group: 'x.day, x.price_number' },
  model: { id: 'm.id', name: "''", group: 'x.day, x.price_number' },
  key: { id: 'k.id', name: 'k.name', group: 'x.day, x.key_number, x.price_number' },
}

const OF_MODEL = 'WHERE $onlyModel IS NULL OR x.model_number = $onlyModel'

/** By price version in any case: a sum of tokens then has one rate. */
const sumsBy = (walk: string, where: string, { id, name, group }: (typeof BY)['day']): string => `SELECT ${id} AS id, ${name} AS name, x.*,
    p.input_rate_picos AS inputRate, p.output_rate_picos AS outputRate, p.cache_read_rate_picos AS cacheReadRate,
    p.cache_write_5m_rate_picos AS cacheWrite5mRate, p.cache_write_1h_rate_picos AS cacheWrite1hRate, p.server_tool_use_rate_picos AS serverToolUseRate
  FROM (
    SELECT x.day, x.key_number, x.price_number, sum(requests) AS requests, sum(input_tokens) AS input, sum(output_tokens) AS output,
      sum(cache_read_tokens) AS cacheRead, sum(cache_write_5m_tokens) AS cacheWrite5m, sum(cache_write_1h_tokens) AS cacheWrite1h,
      sum(server_tool_uses) AS serverToolUses, sum(cost_picos) AS cost, sum(waived_picos) AS waived, sum(estimated_picos) AS estimated
    FROM (SELECT u.* ${walk} LIMIT $looked) x ${where} GROUP BY ${group}
  ) x JOIN price_versions p ON p.number = x.price_number JOIN models m ON m.number = p.model_number JOIN keys k ON k.number = x.key_number`

/** Of a day, over all accounts: by the index of days, which goes on in the order of the key. */
const WALK_OF_DAY = `FROM usage_daily u WHERE u.day = $day AND (u.key_number, u.model_number, u.price_number) > ($key, $model, $price)
  ORDER BY u.key_number, u.model_number, u.price_number`
const LAST_OF_DAY = `SELECT key_number || ':' || day || ':' || model_number || ':' || price_number AS place ${WALK_OF_DAY} LIMIT 1 OFFSET $looked - 1`

export class SpendReads {
  readonly #db: Database

  /** `db`: a connection that gives integers as bigints. */
  constructor(db: Database) {
    this.#db = db
  }

  /** Undefined: `after` is no place of this account. */
  part({ fromDay, toDay, by, after = BEFORE_ALL }: SpendQuestion, walk: Walk): SpendPart | undefined {
    if (!PLACE.test(after)) return undefined
    const [key = 0, day = 0, model = 0, price = 0] = after.split(':').map(Number)
    if (after !== BEFORE_ALL && !this.#isOf(walk.account, key)) return undefined
    const { onlyModel, ...keys } = walk
    const given = { ...keys, fromDay, toDay, key, day, model, price, looked: LOOKED_AT_MAX[by] }
    const next = this.#db.query<{ place: string }, [typeof given]>(LAST).get(given)?.place ?? null
    const rows = this.#db
      .query<SumRow, [typeof given & { onlyModel: number | null }]>(sumsBy(WALK, OF_MODEL, BY[by]))
      .all({ ...given, onlyModel })
    return { rows: rows.map(rowOf), next }
  }

  /** By model. Undefined: `after` is no place. */
  ofDay({ day, after = BEFORE_ALL }: QuestionOf<'usageOfDay'>): SpendPart | undefined {
    if (!PLACE.test(after)) return undefined
    const [key = 0, , model = 0, price = 0] = after.split(':').map(Number)
    const given = { day, key, model, price, looked: LOOKED_AT_MAX.model }
    const next = this.#db.query<{ place: string }, [typeof given]>(LAST_OF_DAY).get(given)?.place ?? null
    return {
      rows: this.#db
        .query<SumRow, [typeof given]>(sumsBy(WALK_OF_DAY, '', BY.model))
        .all(given)
        .map(rowOf),
      next,
    }
  }

  #isOf(account: number, key: number): boolean {
    return this.#db.query('SELECT 1 FROM keys WHERE number = ? AND account_number = ?').get(key, account) !== null
  }
}

function rowOf(row: SumRow): SpendRow {
  const usage = {
    input: Number(row.input),
    output: Number(row.output),
    cacheRead: Number(row.cacheRead),
    cacheWrite5m: Number(row.cacheWrite5m),
    cacheWrite1h: Number(row.cacheWrite1h),
    serverToolUses: Number(row.serverToolUses),
  }
  const rates: Rates = {
    input: picos(row.inputRate),
    output: picos(row.outputRate),
    cacheRead: picos(row.cacheReadRate),
    cacheWrite5m: picos(row.cacheWrite5mRate),
    cacheWrite1h: picos(row.cacheWrite1hRate),
    serverToolUse: picos(row.serverToolUseRate),
  }
  return {
    day: Number(row.day),
    id: row.id,
    name: row.name,
    requests: Number(row.requests),
    usage,
    costPicos: picos(row.cost),
    waivedPicos: picos(row.waived),
    estimatedPicos: picos(row.estimated),
    savedPicos: savedByCache(usage, rates),
  }
}
