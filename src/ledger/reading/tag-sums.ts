/** What was spent by tag: sums of the roll-ups of tags, and of what has none, which is what they lack of all. Rules: ledger.md "Roll-ups". */

import { type Picos, picos } from '../../core/money.ts'
import type { Usage } from '../../core/usage.ts'
import type { Connection } from '../sql/connection.ts'

/** Days are whole UTC days since 1970, both included. */
export type TagQuery = Readonly<{ keyId?: string; accountId?: string; fromDay?: number; toDay?: number }>

/** `tag`: null for the requests without one; '' for all tags beyond the first of a key and day. */
export type TagSums = Readonly<{ tag: string | null; requests: number; usage: Usage; costPicos: Picos; waivedPicos: Picos }>

/** How the shared roll-up of the tags beyond the first of a key and day is called. */
export const OTHER_TAGS = 'other'

const COUNTERS = [
  'requests',
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_5m_tokens',
  'cache_write_1h_tokens',
  'server_tool_uses',
]
const LIMB = 1_000_000n
/** In two limbs, because int64 picodollars end at 9.2 million USD. */
const LIMBS = ['cost_picos', 'waived_picos'].flatMap((name) => [`${name} / ${LIMB} AS ${name}_high`, `${name} % ${LIMB} AS ${name}_low`])
const SUMMED = [...COUNTERS, 'cost_picos_high', 'cost_picos_low', 'waived_picos_high', 'waived_picos_low']

const WHERE = `WHERE (CAST($fromDay AS BIGINT) IS NULL OR day >= $fromDay) AND (CAST($toDay AS BIGINT) IS NULL OR day <= $toDay)
    AND (CAST($keyId AS TEXT) IS NULL OR key_number = (SELECT number FROM keys WHERE id = $keyId))
    AND (CAST($accountId AS TEXT) IS NULL OR key_number IN (SELECT number FROM keys WHERE account_number = (SELECT number FROM accounts WHERE id = $accountId)))`
const of = (tag: string, table: string): string => `SELECT ${tag} AS tag, ${[...COUNTERS, ...LIMBS].join(', ')} FROM ${table} ${WHERE}`

const SUMS = `SELECT tag, ${SUMMED.map((name) => `CAST(sum(sign * ${name}) AS BIGINT) AS ${name}`).join(', ')}
  FROM (
    SELECT 1 AS sign, t.* FROM (${of('tag', 'usage_tags')}) t
    UNION ALL SELECT 1, d.* FROM (${of('CAST(NULL AS TEXT)', 'usage_daily')}) d
    UNION ALL SELECT -1, t.* FROM (${of('CAST(NULL AS TEXT)', 'usage_tags')}) t
  ) sides GROUP BY tag`

type Given = { fromDay: number | null; toDay: number | null; keyId: string | null; accountId: string | null }
type Row = { tag: string | null } & Record<string, bigint>

/** The dearest first. */
export function tagSums(db: Connection, { keyId, accountId, fromDay, toDay }: TagQuery): readonly TagSums[] {
  const given = { fromDay: fromDay ?? null, toDay: toDay ?? null, keyId: keyId ?? null, accountId: accountId ?? null }
  return db
    .query<Row, [Given]>(SUMS)
    .all(given)
    .map(sumsOf)
    .filter(({ requests }) => requests > 0)
    .sort((a, b) => Number(b.costPicos - a.costPicos) || ((a.tag ?? '') < (b.tag ?? '') ? -1 : 1))
}

function sumsOf({ tag, ...row }: Row): TagSums {
  const amount = (name: string): Picos => picos((row[`${name}_high`] ?? 0n) * LIMB + (row[`${name}_low`] ?? 0n))
  const [requests = 0, input = 0, output = 0, cacheRead = 0, cacheWrite5m = 0, cacheWrite1h = 0, serverToolUses = 0] = COUNTERS.map(
    (name) => Number(row[name]),
  )
  const usage = { input, output, cacheRead, cacheWrite5m, cacheWrite1h, serverToolUses }
  return { tag, requests, usage, costPicos: amount('cost_picos'), waivedPicos: amount('waived_picos') }
}
