/**
 * Rows of Explore on their way from the thread that reads, as texts of few rows each: what arrives as one value is taken apart in one piece before anything else runs, and
 * a text is only copied. Rules: pages.md "Explore".
 */

import { picos } from '../../core/money.ts'
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

type Picos = 'costPicos' | 'waivedPicos' | 'estimatedPicos' | 'upstreamCostPicos'
type Sent = Omit<ExploreRow, Picos> & Readonly<Record<Picos, string>>

const sentOf = (row: ExploreRow): Sent => ({
  ...row,
  costPicos: String(row.costPicos),
  waivedPicos: String(row.waivedPicos),
  estimatedPicos: String(row.estimatedPicos),
  upstreamCostPicos: String(row.upstreamCostPicos),
})

export const rowsIn = (slice: string): readonly ExploreRow[] =>
  (JSON.parse(slice) as readonly Sent[]).map((row) => ({
    ...row,
    costPicos: picos(BigInt(row.costPicos)),
    waivedPicos: picos(BigInt(row.waivedPicos)),
    estimatedPicos: picos(BigInt(row.estimatedPicos)),
    upstreamCostPicos: picos(BigInt(row.upstreamCostPicos)),
  }))
