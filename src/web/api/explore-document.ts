/**
 * What was used by what was asked, as a page and the operator's API show it: sums of things, and for a chart the same by step. All of it comes from the same rows as the file, with
 * exact amounts, so that they agree to the last digit. Rules: pages.md "Explore".
 */

import { type Measure, SERIES_MAX, SHOWN_ROWS_MAX, stepsBetween, stepText } from '../../core/explore.ts'
import { toExactUsdText } from '../../core/money.ts'
import { dayText } from '../../core/utc.ts'
import { tokens } from '../../http/usage-documents.ts'
import { addSums, type ExploredRow, groupsOf, NOTHING_USED, sumExplored } from '../../ledger/reading/explore.ts'
import type { ExploreRow, ExploreSums } from '../../ledger/reading/explore-reads.ts'
import { ordered } from '../../ledger/reading/loop-turns.ts'
import type { Explore } from './explore-query.ts'

/** `isOperators`: with what the requests cost at their upstreams. */
export function* exploreDocument(rows: readonly ExploredRow[], explore: Explore, isOperators: boolean) {
  const { measure } = explore
  const byCost = yield* groupsOf(rows)
  // Groups with the same count stay in the order of their cost.
  const groups = measure === 'spend' ? byCost : yield* ordered(byCost, (a, b) => (countOf(b, measure) ?? -1) - (countOf(a, measure) ?? -1))
  const ofPlace = yield* sumsByPlace(rows, new Set(groups.slice(0, SERIES_MAX).map(({ id }) => id)))
  const valueAt = (hour: number, id: string): string | null => textOf(ofPlace.get(placeOf(hour, id)) ?? NOTHING_USED, measure)
  return yield* documentOf({ groups, valueAt }, explore, isOperators)
}

export const placeOf = (hour: number, id: string): string => `${hour} ${id}`

/** `groups`: the sums of each thing, in their order. `valueAt`: what the chart shows of a thing in a step; of the id `''` for all that have no series of their own. */
export type Shown = Readonly<{ groups: readonly ExploredRow[]; valueAt: (hour: number, id: string) => string | null }>

export function* documentOf({ groups, valueAt }: Shown, { asked, step, measure, fromDay, toDay }: Explore, isOperators: boolean) {
  const shown = groups.slice(0, SERIES_MAX)
  const rest = groups.slice(SHOWN_ROWS_MAX)
  const places = stepsBetween(asked.fromHour, asked.toHour, step)
  const sums = (of: ExploreSums) => ({ ...sumsDocument(of), ...(isOperators ? costDocument(of) : {}) })
  const seriesOf = function* (things: ReturnType<typeof thingsOf> | null, id: string) {
    const values: (string | null)[] = []
    for (const hour of places) {
      values.push(valueAt(hour, id))
      yield
    }
    return { things, values }
  }
  const series: { things: ReturnType<typeof thingsOf> | null; values: (string | null)[] }[] = []
  for (const group of shown) series.push(yield* seriesOf(thingsOf(group), group.id))
  if (groups.length > SERIES_MAX) series.push(yield* seriesOf(null, ''))
  const data: ({ things: ReturnType<typeof thingsOf> } & ReturnType<typeof sums>)[] = []
  for (const group of groups.slice(0, SHOWN_ROWS_MAX)) {
    data.push({ things: thingsOf(group), ...sums(group) })
    yield
  }
  return {
    by: [...asked.by],
    step,
    measure,
    from: dayText(fromDay),
    to: dayText(toDay),
    /** The beginning of each step. */
    places: places.map((hour) => stepText(hour, step)),
    /** Null: all others. Values are exact decimal texts, of a rate in thousandths; null where there is none. */
    series,
    data,
    others: rest.length === 0 ? null : { count: rest.length, ...sums(yield* sumExplored(rest)) },
    total: sums(yield* sumExplored(groups)),
  }
}

/** By step and thing; what is none of `ids` has the id `''`. */
function* sumsByPlace(rows: readonly ExploredRow[], ids: ReadonlySet<string>) {
  const sums = new Map<string, ExploreSums>()
  for (const row of rows) {
    const place = placeOf(row.hour, ids.has(row.id) ? row.id : '')
    sums.set(place, addSums(sums.get(place) ?? NOTHING_USED, row))
    yield
  }
  return sums
}

const thingsOf = ({ things }: ExploreRow) => things.map(({ id, name }) => ({ id, name }))

const cacheWrite = ({ usage }: ExploreSums): number => usage.cacheWrite5m + usage.cacheWrite1h

/** Of the prompts' tokens those that were read from a cache, in thousandths; null: there were no prompts. */
function cacheHits(of: ExploreSums): number | null {
  const prompts = of.usage.input + of.usage.cacheRead + cacheWrite(of)
  return prompts === 0 ? null : Math.round((of.usage.cacheRead * 1_000) / prompts)
}

function textOf(of: ExploreSums, measure: Measure): string | null {
  if (measure === 'spend') return toExactUsdText(of.costPicos)
  const count = countOf(of, measure)
  return count === null ? null : String(count)
}

function countOf(of: ExploreSums, measure: Exclude<Measure, 'spend'>): number | null {
  switch (measure) {
    case 'requests':
      return of.requests
    case 'input':
      return of.usage.input
    case 'output':
      return of.usage.output
    case 'cache_read':
      return of.usage.cacheRead
    case 'cache_write':
      return cacheWrite(of)
    case 'cache_hits':
      return cacheHits(of)
  }
}

const sumsDocument = (of: ExploreSums) => ({
  requests: of.requests,
  usage: tokens(of.usage),
  cache_hit_thousandths: cacheHits(of),
  cost_usd: toExactUsdText(of.costPicos),
  waived_usd: toExactUsdText(of.waivedPicos),
  /** The part of the cost that rests on estimated tokens. */
  estimated_usd: toExactUsdText(of.estimatedPicos),
})

const costDocument = (of: ExploreSums) => ({
  /** Of the requests whose cost is known. */
  upstream_cost_usd: toExactUsdText(of.upstreamCostPicos),
  costed_requests: of.costed,
})
