/**
 * What an account spent, as its page and its file show it: sums by model or key, and the same by day or hour for the chart. Every amount is an exact decimal
 * text, and all amounts come from the same rows, so that chart, table and file agree to the last digit. Rules: pages.md "Spend"; ledger.md "Roll-ups".
 */

import { type Cell, csvLine } from '../../core/csv.ts'
import { type Picos, picos, toExactUsdText, ZERO } from '../../core/money.ts'
import { dayText } from '../../core/utc.ts'
import { tokens } from '../../http/usage-documents.ts'
import type { SpendRow, SpendSums } from '../../ledger/reading/account-reports.ts'
import { sumSpend } from '../../ledger/reading/spend.ts'

/** The most series of a chart, which has so many colours; all other things together are one more series. */
const SERIES = 7
/** The most rows that a page can show; all other things together are one more row. */
const ROWS_MAX = 500

export type SpendOf = Readonly<{ by: 'model' | 'key' | 'tag'; fromDay: number; toDay: number; isByHour: boolean }>

export function spendDocument(rows: readonly SpendRow[], { by, fromDay, toDay, isByHour }: SpendOf) {
  const things = [...Map.groupBy(rows, ({ id }) => id)]
    .map(([id, of]) => ({ id, name: of[0]?.name ?? '', sums: sumSpend(of) }))
    .sort((a, b) => Number(b.sums.costPicos - a.sums.costPicos) || b.sums.requests - a.sums.requests || (a.id < b.id ? -1 : 1))
  const shown = things.slice(0, SERIES)
  const rest = things.slice(ROWS_MAX)
  const places = isByHour
    ? Array.from({ length: 24 }, (_, hour) => hour)
    : Array.from({ length: toDay - fromDay + 1 }, (_, n) => fromDay + n)
  const costs = costsOf(rows, new Set(shown.map(({ id }) => id)))
  const valuesOf = (id: string | null): readonly string[] => places.map((place) => toExactUsdText(costs.get(`${place} ${id}`) ?? ZERO))
  return {
    by,
    from: dayText(fromDay),
    to: dayText(toDay),
    /** Whether the bars are the hours 0 to 23 of one UTC day, or else days. */
    is_by_hour: isByHour,
    places: places.map((place) => (isByHour ? `${String(place).padStart(2, '0')}:00` : dayText(place))),
    series: [
      ...shown.map(({ id, name }) => ({ id: id as string | null, name, values: valuesOf(id) })),
      ...(things.length > SERIES ? [{ id: null, name: '', values: valuesOf(null) }] : []),
    ],
    /** The models or keys, dearest first. */
    data: things.slice(0, ROWS_MAX).map(({ id, name, sums }) => ({ id, name, ...sumsDocument(sums) })),
    others: rest.length === 0 ? null : { count: rest.length, ...sumsDocument(sumSpend(rest.map(({ sums }) => sums))) },
    total: sumsDocument(sumSpend(rows)),
  }
}

/** The costs by place and thing; the costs of things that are not `shown` are under null. */
function costsOf(rows: readonly SpendRow[], shown: ReadonlySet<string>): ReadonlyMap<string, Picos> {
  const costs = new Map<string, Picos>()
  for (const { day, hour, id, costPicos } of rows) {
    const at = `${hour ?? day} ${shown.has(id) ? id : null}`
    costs.set(at, picos((costs.get(at) ?? ZERO) + costPicos))
  }
  return costs
}

const sumsDocument = ({ requests, usage, costPicos, waivedPicos, estimatedPicos, savedPicos }: SpendSums) => ({
  requests,
  usage: tokens(usage),
  cost_usd: toExactUsdText(costPicos),
  waived_usd: toExactUsdText(waivedPicos),
  /** The part of the cost that rests on estimated tokens. */
  estimated_usd: toExactUsdText(estimatedPicos),
  /** What the cache saved; less than 0 where its writes cost more than its reads saved. */
  saved_usd: toExactUsdText(savedPicos),
})

const COLUMNS: readonly Readonly<{ name: string; of: (row: SpendRow) => Cell }>[] = [
  { name: 'date', of: ({ day }) => dayText(day) },
  { name: 'hour', of: ({ hour }) => hour },
  { name: 'id', of: ({ id }) => id },
  { name: 'name', of: ({ name }) => name },
  { name: 'requests', of: ({ requests }) => requests },
  { name: 'input_tokens', of: ({ usage }) => usage.input },
  { name: 'output_tokens', of: ({ usage }) => usage.output },
  { name: 'cache_read_input_tokens', of: ({ usage }) => usage.cacheRead },
  { name: 'ephemeral_5m_input_tokens', of: ({ usage }) => usage.cacheWrite5m },
  { name: 'ephemeral_1h_input_tokens', of: ({ usage }) => usage.cacheWrite1h },
  { name: 'server_tool_uses', of: ({ usage }) => usage.serverToolUses },
  { name: 'cost_usd_exact', of: ({ costPicos }) => ({ decimal: toExactUsdText(costPicos) }) },
  { name: 'waived_usd_exact', of: ({ waivedPicos }) => ({ decimal: toExactUsdText(waivedPicos) }) },
  { name: 'estimated_usd_exact', of: ({ estimatedPicos }) => ({ decimal: toExactUsdText(estimatedPicos) }) },
  { name: 'cache_saved_usd_exact', of: ({ savedPicos }) => ({ decimal: toExactUsdText(savedPicos) }) },
]

/** The rows as a file, newest first, in the order in which they come. */
export const spendCsv = (rows: readonly SpendRow[]): string =>
  csvLine(COLUMNS.map(({ name }) => name)) + rows.map((row) => csvLine(COLUMNS.map(({ of }) => of(row)))).join('')
