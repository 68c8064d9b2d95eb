/** Sums of use as the database gives them, by price version, and as readers get them: named, and with what the cache saved. Rules: ledger.md "Roll-ups". */

import { picos } from '../../core/money.ts'
import { type Rates, savedByCache } from '../../core/pricing.ts'
import type { SpendRow } from './account-reports.ts'

/** The ids, which no tag has, of the requests without a tag, and of those whose tags are beyond the first of a key and day. */
export const NO_TAG = '(none)'
export const OTHER_TAGS_ID = '(other)'

/** The things that rows are about, and the columns by which they are summed. The price version is always one, so that each sum of tokens has one rate. */
export const BY = {
  day: { id: "''", name: "''", group: 'price_number' },
  model: { id: 'm.id', name: "''", group: 'price_number' },
  key: { id: 'k.id', name: 'k.name', group: 'key_number, price_number' },
  tag: { id: `coalesce(x.tag, '${NO_TAG}')`, name: "''", group: 'tag, price_number' },
}

/** `sums`: a select of day, hour (or null), key_number, price_number and the sums. */
export const named = (sums: string, { id, name }: (typeof BY)['day']): string => `SELECT ${id} AS id, ${name} AS name, x.*,
    p.input_rate_picos AS "inputRate", p.output_rate_picos AS "outputRate", p.cache_read_rate_picos AS "cacheReadRate",
    p.cache_write_5m_rate_picos AS "cacheWrite5mRate", p.cache_write_1h_rate_picos AS "cacheWrite1hRate",
    p.server_tool_use_rate_picos AS "serverToolUseRate"
  FROM (${sums}) x JOIN price_versions p ON p.number = x.price_number JOIN models m ON m.number = p.model_number JOIN keys k ON k.number = x.key_number`

/** A sum over one price version, as int64 like the values that it sums. */
export const sumAs = (what: string, name: string): string => `CAST(sum(${what}) AS BIGINT) AS "${name}"`

/** The columns that roll-ups and receipts both have. */
export const TOKENS_AND_MONEY = [
  sumAs('input_tokens', 'input'),
  sumAs('output_tokens', 'output'),
  sumAs('cache_read_tokens', 'cacheRead'),
  sumAs('cache_write_5m_tokens', 'cacheWrite5m'),
  sumAs('cache_write_1h_tokens', 'cacheWrite1h'),
  sumAs('server_tool_uses', 'serverToolUses'),
  sumAs('cost_picos', 'cost'),
  sumAs('waived_picos', 'waived'),
].join(', ')

export type SumRow = Record<'day' | 'requests' | 'cost' | 'waived' | 'estimated', bigint> &
  Record<'input' | 'output' | 'cacheRead' | 'cacheWrite5m' | 'cacheWrite1h' | 'serverToolUses', bigint> &
  Record<`${keyof Rates}Rate`, bigint> & { id: string; name: string; hour: bigint | null }

export function rowOf(row: SumRow): SpendRow {
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
    hour: row.hour === null ? null : Number(row.hour),
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
