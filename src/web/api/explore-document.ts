/**
 * What was used by what was asked, as a page and the operator's API show it: sums of things, and for a chart the same by step. All of it comes from the same sums as the file, with
 * exact amounts, so that they agree to the last digit. Rules: pages.md "Explore".
 */

import { type Measure, SERIES_MAX, SHOWN_ROWS_MAX, stepsBetween, stepText } from '../../core/explore.ts'
import { picos, toExactUsdText } from '../../core/money.ts'
import { dayText } from '../../core/utc.ts'
import { tokens } from '../../http/usage-documents.ts'
import { addSums, byCost, type ExploredGroup, sumExplored } from '../../ledger/reading/explore.ts'
import type { ExploreRow, ExploreSums } from '../../ledger/reading/explore-rows.ts'
import { addSteps, NO_VALUE, type StepValue, type StepValues } from '../../ledger/reading/explore-slices.ts'
import { firstOf } from '../../ledger/reading/loop-turns.ts'
import type { Explore } from './explore-query.ts'

/** `found`: the answer of `wholeGroups` to the same question. `isOperators`: with what the requests cost at their upstreams. */
export function* exploreDocument(found: readonly ExploredGroup[], explore: Explore, isOperators: boolean) {
  const { measure } = explore
  const { first: groups, others } = yield* firstOf(found, orderOf(measure), SHOWN_ROWS_MAX)
  const values = yield* valuesOf(groups, others)
  const valueAt = (hour: number, id: string): string | null => textOf(values.get(id)?.get(hour) ?? NO_VALUE, measure)
  return yield* documentOf({ groups, others, valueAt }, explore, isOperators)
}

/** Groups with the same count are in the order of their cost. */
function orderOf(measure: Measure): (a: ExploredGroup, b: ExploredGroup) => number {
  if (measure === 'spend') return byCost
  return (a, b) => (countOf(b, measure) ?? -1) - (countOf(a, measure) ?? -1) || byCost(a, b)
}

/**
 * `groups`: the sums of the first things, in their order; `others`: those of all others. `valueAt`: what the chart shows of a thing in a step; of the id `''` for all that have
 * no series of their own.
 */
export type Shown = Readonly<{
  groups: readonly ExploredGroup[]
  others: readonly ExploredGroup[]
  valueAt: (hour: number, id: string) => string | null
}>

export function* documentOf({ groups, others, valueAt }: Shown, { asked, step, measure, fromDay, toDay }: Explore, isOperators: boolean) {
  const shown = groups.slice(0, SERIES_MAX)
  const ofOthers = yield* sumExplored(others)
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
  for (const group of groups) {
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
    others: others.length === 0 ? null : { count: others.length, ...sums(ofOthers) },
    total: sums(addSums(yield* sumExplored(groups), ofOthers)),
  }
}

/** By the id of a thing and by step; those of all that have no series have the id `''`. */
export function* valuesOf(groups: readonly ExploredGroup[], others: readonly ExploredGroup[] = []) {
  const values = new Map<string, StepValues>()
  for (const [index, { id, steps }] of [...groups, ...others].entries()) {
    yield* addSteps(
      values.getOrInsertComputed(index < SERIES_MAX ? id : '', () => new Map()),
      steps,
    )
    yield
  }
  return values
}

const thingsOf = ({ things }: ExploreRow) => things.map(({ id, name }) => ({ id, name }))

const cacheWrite = ({ usage }: ExploreSums): number => usage.cacheWrite5m + usage.cacheWrite1h

/** Of the prompts' tokens those that were read from a cache, in thousandths; null: there were no prompts. */
const cacheHits = ({ usage, ...of }: ExploreSums): number | null =>
  thousandths(usage.cacheRead, usage.input + usage.cacheRead + cacheWrite({ usage, ...of }))
const thousandths = (part: number, all: number): number | null => (all === 0 ? null : Math.round((part * 1_000) / all))

function textOf({ value, all }: StepValue, measure: Measure): string | null {
  if (measure === 'spend') return toExactUsdText(picos(BigInt(value)))
  if (measure !== 'cache_hits') return String(value)
  const rate = thousandths(Number(value), Number(all))
  return rate === null ? null : String(rate)
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
