/**
 * Our books of upstream calls: every receipt with an upstream and every attempt, in buckets of time, so that they can be compared with the
 * upstream's own. One pass over the rows, whatever the number of buckets. Rules: operator.md "Reconciliation".
 */

import { type Picos, picos } from '../../core/money.ts'
import type { Usage } from '../../core/usage.ts'
import type { Connection } from '../sql/connection.ts'
import { among, listText, numbersIn } from '../sql/sql-list.ts'

/** A call counts in the bucket in which it began, or in which its request was settled. */
export type Attribution = 'start' | 'settle'

/** Buckets of one width from `from` on, before `to`; Unix milliseconds. `upstreams`: names; undefined: all. */
export type BooksQuery = Readonly<{ from: number; to: number; widthMs: number; by: Attribution; upstreams: readonly string[] | undefined }>

/** charged: receipts that the customer paid · waived: receipts that we paid · attempts: calls without a receipt of their own. */
export const CAUSES = ['charged', 'waived', 'attempts'] as const
export type Cause = (typeof CAUSES)[number]

/**
 * `bucket`: the index of the bucket. `inexact`: calls with a figure that is our estimate, or the last one before a cut. `crossing`: calls that began in one bucket
 * and ended in another.
 */
export type BooksRow = Readonly<{
  bucket: number
  model: string
  cause: Cause
  calls: number
  inexact: number
  crossing: number
  usage: Usage
  pricePicos: Picos
  /** What those calls cost us of which that is known: `costed` of them. */
  costPicos: Picos
  costed: number
}>

/** A call of ours. `attempt`: null for the call of the receipt. */
export type BooksCall = Readonly<{
  bucket: number
  model: string
  requestId: string
  attempt: number | null
  cause: Cause
  outcome: string
  basis: string
  startedAt: number
  endedAt: number
  usage: Usage
  pricePicos: Picos
  costPicos: Picos | null
  upstreamMessageId: string | null
  upstreamRequestId: string | null
}>

const COUNTERS = [
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_5m_tokens',
  'cache_write_1h_tokens',
  'server_tool_uses',
]
const LIMB = 1_000_000n

/** The time by which a call counts: when it began (`$by` is 0) or ended (1). */
const timeOf = (started: string, ended: string): string => `CASE WHEN $by = 0 THEN ${started} ELSE ${ended} END`
const isInTime = (at: string): string => `${at} >= $from AND ${at} < $to`
const CALLS = `
  SELECT ${timeOf('started_at', 'ended_at')} AS at, u.model AS model, x.* FROM (
    SELECT request_id, CAST(NULL AS BIGINT) AS attempt, CASE WHEN outcome IN ('fault', 'drain', 'recovered') THEN 'waived' ELSE 'charged' END AS cause,
      outcome, basis, started_at,
      settled_at AS ended_at, upstream_number, upstream_message_id, upstream_request_id, ${COUNTERS.join(', ')}, cost_picos + waived_picos AS price, upstream_cost_picos AS cost
    FROM receipts WHERE upstream_number IS NOT NULL AND ${isInTime(timeOf('started_at', 'settled_at'))}
    UNION ALL
    SELECT request_id, attempt, 'attempts', cause, basis, started_at, started_at + duration_ms, upstream_number, upstream_message_id,
      upstream_request_id, ${COUNTERS.join(', ')}, price_picos, upstream_cost_picos
    FROM attempts WHERE ${isInTime(timeOf('started_at', 'started_at + duration_ms'))}
  ) x JOIN upstreams u ON u.number = upstream_number
  WHERE ${among('u.name', '$upstreams')}`

const IS_INEXACT = "basis IN ('partial', 'estimated')"
const IS_CROSSING = '(started_at - $from) / $width <> (ended_at - $from) / $width'

type Given = { from: number; to: number; width: number; by: number; upstreams: string | null }
type Counts = Record<string, bigint>

const sumOf = (what: string): string => `CAST(sum(${what}) AS BIGINT)`

export function upstreamBooks(db: Connection, query: BooksQuery): readonly BooksRow[] {
  const sums = COUNTERS.map((name) => `${sumOf(name)} AS ${name}`).join(', ')
  const countOf = (condition: string): string => sumOf(`CASE WHEN ${condition} THEN 1 ELSE 0 END`)
  return db
    .query<Counts & { model: string; cause: Cause }, [Given]>(
      `SELECT (at - $from) / $width AS bucket, model, cause, count(*) AS calls, ${countOf(IS_INEXACT)} AS inexact, ${countOf(IS_CROSSING)} AS crossing,
         ${sums}, ${sumOf('price / 1000000')} AS high, ${sumOf('price % 1000000')} AS low,
         count(cost) AS costed, ${sumOf('coalesce(cost, 0) / 1000000')} AS "costHigh", ${sumOf('coalesce(cost, 0) % 1000000')} AS "costLow"
       FROM (${CALLS}) calls GROUP BY 1, 2, 3`,
    )
    .all(givenOf(query))
    .map(({ model, cause, ...row }) => ({
      bucket: Number(row['bucket']),
      model,
      cause,
      calls: Number(row['calls']),
      inexact: Number(row['inexact']),
      crossing: Number(row['crossing']),
      usage: usageOf(row),
      pricePicos: picos((row['high'] ?? 0n) * LIMB + (row['low'] ?? 0n)),
      costPicos: picos((row['costHigh'] ?? 0n) * LIMB + (row['costLow'] ?? 0n)),
      costed: Number(row['costed']),
    }))
}

/** The calls of these buckets, `limit` for each: first those that most likely explain a difference (inexact, then crossing, then waived and attempts), then the largest. */
export function upstreamCalls(db: Connection, query: BooksQuery, buckets: readonly number[], limit: number): readonly BooksCall[] {
  const suspicion = `${IS_INEXACT} DESC, ${IS_CROSSING} DESC, cause <> 'charged' DESC, price DESC, request_id`
  return db
    .query<Record<string, bigint | string | null>, [Given & { buckets: string; limit: number }]>(
      `SELECT * FROM (
         SELECT calls.*, (at - $from) / $width AS bucket, row_number() OVER (PARTITION BY (at - $from) / $width ORDER BY ${suspicion}) AS place
         FROM (${CALLS}) calls WHERE (at - $from) / $width IN (${numbersIn('$buckets')})
       ) placed WHERE place <= $limit ORDER BY bucket, place`,
    )
    .all({ ...givenOf(query), buckets: JSON.stringify(buckets), limit })
    .map((row) => ({
      bucket: Number(row['bucket']),
      model: String(row['model']),
      requestId: String(row['request_id']),
      attempt: row['attempt'] === null ? null : Number(row['attempt']),
      cause: row['cause'] as Cause,
      outcome: String(row['outcome']),
      basis: String(row['basis']),
      startedAt: Number(row['started_at']),
      endedAt: Number(row['ended_at']),
      usage: usageOf(row as Counts),
      pricePicos: picos(row['price'] as bigint),
      costPicos: row['cost'] === null ? null : picos(row['cost'] as bigint),
      upstreamMessageId: row['upstream_message_id'] as string | null,
      upstreamRequestId: row['upstream_request_id'] as string | null,
    }))
}

const givenOf = ({ from, to, widthMs, by, upstreams }: BooksQuery): Given => ({
  from,
  to,
  width: widthMs,
  by: by === 'start' ? 0 : 1,
  upstreams: listText(upstreams),
})

function usageOf(row: Counts): Usage {
  const [input = 0, output = 0, cacheRead = 0, cacheWrite5m = 0, cacheWrite1h = 0, serverToolUses = 0] = COUNTERS.map((name) =>
    Number(row[name]),
  )
  return { input, output, cacheRead, cacheWrite5m, cacheWrite1h, serverToolUses }
}
