/**
 * Rows of Explore on their way from the thread that reads, as texts of few rows each: what arrives as one value is taken apart in one piece before anything else runs, and
 * a text is only copied. A row is a list, which is read in half the time of an object with names. Rules: pages.md "Explore".
 */

import { type Picos, picos, ZERO } from '../../core/money.ts'
import type { ExplorePart, ExploreRow } from './explore-reads.ts'
import { ROWS_OF_TURN } from './loop-turns.ts'

/** An `ExplorePart` in texts, each of as many rows as a turn of the loop reads. */
export type ExploreSlices = Readonly<{ slices: readonly string[]; next: string | null }>

export const slicesOf = ({ rows, next }: ExplorePart): ExploreSlices => ({
  slices: Array.from({ length: Math.ceil(rows.length / ROWS_OF_TURN) }, (_, index) =>
    JSON.stringify(rows.slice(index * ROWS_OF_TURN, (index + 1) * ROWS_OF_TURN).map(sentOf)),
  ),
  next,
})

/** An amount, as a number where that is exact. */
type Amount = number | string
type Counts = readonly [hour: number, requests: number, costed: number]
type Tokens = readonly [input: number, output: number, read: number, written5m: number, written1h: number, serverToolUses: number]
type Sent = readonly [...Counts, ...Tokens, Amount, Amount, Amount, Amount, ...idsAndNames: string[]]

const amountOf = (amount: Picos): Amount => (amount <= Number.MAX_SAFE_INTEGER ? Number(amount) : String(amount))
const picosOf = (amount: Amount): Picos => (amount === 0 ? ZERO : picos(BigInt(amount)))

const sentOf = ({ hour, requests, costed, usage, things, ...amounts }: ExploreRow): Sent => [
  hour,
  requests,
  costed,
  usage.input,
  usage.output,
  usage.cacheRead,
  usage.cacheWrite5m,
  usage.cacheWrite1h,
  usage.serverToolUses,
  amountOf(amounts.costPicos),
  amountOf(amounts.waivedPicos),
  amountOf(amounts.estimatedPicos),
  amountOf(amounts.upstreamCostPicos),
  ...things.flatMap(({ id, name }) => [id, name]),
]

export const rowsIn = (slice: string): readonly ExploreRow[] => (JSON.parse(slice) as readonly Sent[]).map(rowOf)

function rowOf([hour, requests, costed, input, output, cacheRead, cacheWrite5m, cacheWrite1h, serverToolUses, ...rest]: Sent): ExploreRow {
  const [cost, waived, estimated, upstreamCost, ...texts] = rest
  return {
    hour,
    things: Array.from({ length: texts.length / 2 }, (_, index) => ({ id: texts[2 * index] ?? '', name: texts[2 * index + 1] ?? '' })),
    requests,
    usage: { input, output, cacheRead, cacheWrite5m, cacheWrite1h, serverToolUses },
    costPicos: picosOf(cost),
    waivedPicos: picosOf(waived),
    estimatedPicos: picosOf(estimated),
    upstreamCostPicos: picosOf(upstreamCost),
    costed,
  }
}
