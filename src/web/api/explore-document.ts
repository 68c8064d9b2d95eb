/**
 * What was used by what was asked, as a page, a file and the operator's API show it: sums of things, and for a chart the same by step. All of it comes from the same rows, with
 * exact amounts, so that they agree to the last digit. Rules: pages.md "Explore".
 */

import { type Cell, csvLine } from '../../core/csv.ts'
import { type Dimension, type Measure, stepsBetween, stepText } from '../../core/explore.ts'
import { toExactUsdText } from '../../core/money.ts'
import { dayText } from '../../core/utc.ts'
import { tokens } from '../../http/usage-documents.ts'
import { groupsOf, idOf, sumExplored } from '../../ledger/reading/explore.ts'
import type { ExploreRow, ExploreSums } from '../../ledger/reading/explore-reads.ts'
import type { Explore } from './explore-query.ts'

/** The most series of a chart, which has so many colours; all other things together are one more series. */
const SERIES = 7
/** The most rows that a page can show; all other things together are one more row. */
const ROWS_MAX = 500

/** `isOperators`: with what the requests cost at their upstreams. */
export function exploreDocument(rows: readonly ExploreRow[], { asked, step, measure, fromDay, toDay }: Explore, isOperators: boolean) {
  const groups = groupsOf(rows).toSorted((a, b) => rankOf(b, measure) - rankOf(a, measure))
  const [shown, beyond, rest] = [groups.slice(0, SERIES), groups.slice(SERIES), groups.slice(ROWS_MAX)]
  const places = stepsBetween(asked.fromHour, asked.toHour, step)
  const byThing = new Map(shown.map((group) => [idOf(group), group.things]))
  const ofPlace = Map.groupBy(rows, (row) => `${row.hour} ${byThing.has(idOf(row)) ? idOf(row) : ''}`)
  const valuesOf = (id: string) => places.map((hour) => textOf(sumExplored(ofPlace.get(`${hour} ${id}`) ?? []), measure))
  const sums = (of: ExploreSums) => ({ ...sumsDocument(of), ...(isOperators ? costDocument(of) : {}) })
  return {
    by: [...asked.by],
    step,
    measure,
    from: dayText(fromDay),
    to: dayText(toDay),
    /** The beginning of each step. */
    places: places.map((hour) => stepText(hour, step)),
    /** Null: all others. Values are exact decimal texts, of a rate in thousandths; null where there is none. */
    series: [
      ...shown.map((group) => ({ things: thingsOf(group) as ReturnType<typeof thingsOf> | null, values: valuesOf(idOf(group)) })),
      ...(beyond.length > 0 ? [{ things: null, values: valuesOf('') }] : []),
    ],
    data: groups.slice(0, ROWS_MAX).map((group) => ({ things: thingsOf(group), ...sums(group) })),
    others: rest.length === 0 ? null : { count: rest.length, ...sums(sumExplored(rest)) },
    total: sums(sumExplored(rows)),
  }
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

/** What is close is told apart by the order of cost, in which groups come. */
const rankOf = (of: ExploreSums, measure: Measure): number => (measure === 'spend' ? Number(of.costPicos) : (countOf(of, measure) ?? -1))

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

const usd = (amount: ExploreSums['costPicos']): Cell => ({ decimal: toExactUsdText(amount) })
type Columns = readonly Readonly<{ name: string; of: (row: ExploreRow) => Cell }>[]
const COLUMNS: Columns = [
  { name: 'requests', of: ({ requests }) => requests },
  { name: 'input_tokens', of: ({ usage }) => usage.input },
  { name: 'output_tokens', of: ({ usage }) => usage.output },
  { name: 'cache_read_input_tokens', of: ({ usage }) => usage.cacheRead },
  { name: 'ephemeral_5m_input_tokens', of: ({ usage }) => usage.cacheWrite5m },
  { name: 'ephemeral_1h_input_tokens', of: ({ usage }) => usage.cacheWrite1h },
  { name: 'server_tool_uses', of: ({ usage }) => usage.serverToolUses },
  { name: 'cost_usd_exact', of: ({ costPicos }) => usd(costPicos) },
  { name: 'waived_usd_exact', of: ({ waivedPicos }) => usd(waivedPicos) },
  { name: 'estimated_usd_exact', of: ({ estimatedPicos }) => usd(estimatedPicos) },
]
const OPERATORS_COLUMNS: Columns = [
  { name: 'upstream_cost_usd_exact', of: ({ upstreamCostPicos }) => usd(upstreamCostPicos) },
  { name: 'requests_with_upstream_cost', of: ({ costed }) => costed },
]

const columnsOf = (dimension: Dimension, index: number): Columns => [
  { name: dimension, of: ({ things }) => things[index]?.id ?? '' },
  ...(dimension === 'key' || dimension === 'account'
    ? [{ name: `${dimension}_name`, of: ({ things }: ExploreRow) => things[index]?.name ?? '' }]
    : []),
]

/** A row for each step and its things, in the order of time. */
export function exploreCsv(rows: readonly ExploreRow[], { asked, step }: Explore, isOperators: boolean): string {
  const columns: Columns = [
    { name: 'from', of: ({ hour }) => stepText(hour, step) },
    ...asked.by.flatMap(columnsOf),
    ...COLUMNS,
    ...(isOperators ? OPERATORS_COLUMNS : []),
  ]
  return csvLine(columns.map(({ name }) => name)) + rows.map((row) => csvLine(columns.map(({ of }) => of(row)))).join('')
}
