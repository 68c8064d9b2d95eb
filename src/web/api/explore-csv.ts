/** What was used by what was asked, as a file, with all rows and exact amounts. Rules: pages.md "Explore". */

import { type Cell, csvLine } from '../../core/csv.ts'
import { type Dimension, stepText } from '../../core/explore.ts'
import { toExactUsdText } from '../../core/money.ts'
import type { ExploreRow, ExploreSums } from '../../ledger/reading/explore-rows.ts'
import { ROWS_OF_TURN } from '../../ledger/reading/loop-turns.ts'
import { csvFile, type FileOptions } from './csv-file.ts'
import type { Explore } from './explore-query.ts'

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

/** A row for each step and its things, in the order of time: as many lines at a time as a turn of the loop writes. */
export function exploreCsv(
  rows: readonly ExploreRow[],
  { asked, step }: Explore,
  { isOperators, ...file }: FileOptions & Readonly<{ isOperators: boolean }>,
): ReadableStream<Uint8Array> {
  const columns: Columns = [
    { name: 'from', of: ({ hour }) => stepText(hour, step) },
    ...asked.by.flatMap(columnsOf),
    ...COLUMNS,
    ...(isOperators ? OPERATORS_COLUMNS : []),
  ]
  return csvFile(linesOf(rows, columns), file)
}

function* linesOf(rows: readonly ExploreRow[], columns: Columns): Generator<string, void> {
  yield csvLine(columns.map(({ name }) => name))
  for (let at = 0; at < rows.length; at += ROWS_OF_TURN)
    yield rows
      .slice(at, at + ROWS_OF_TURN)
      .map((row) => csvLine(columns.map(({ of }) => of(row))))
      .join('')
}
