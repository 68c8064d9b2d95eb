/** `tollgate usage --by tag` and `--margin`: sums of what was spent by tag, and of what it cost us. Rules: operator.md "Lists"; money.md "Margin". */

import { usdFields } from '../core/money.ts'
import { withoutCost, withoutCostText } from '../core/without-cost.ts'
import { tokenCells, tokenFields } from '../ledger/columns/call-fields.ts'
import { groupMargin, type MarginBy, type MarginOf, marginIn, sumMargin, upstreamCostIn } from '../ledger/reading/margin.ts'
import type { MarginRow, MarginSums } from '../ledger/reading/margin-reads.ts'
import { listOfOne } from '../ledger/reading/receipt-filter.ts'
import { OTHER_TAGS, type TagQuery, type TagSums } from '../ledger/reading/tag-sums.ts'
import type { CommandContext } from './command-context.ts'
import { EXIT, type ExitCode, isStop, type Stop } from './environment.ts'
import { readReport } from './read-report.ts'
import { tableText, usdText } from './text.ts'

/** No day is before the first or after the last. */
const FIRST_DAY = 0
const LAST_DAY = 99_999_999

export function showByTag(context: CommandContext, query: TagQuery): ExitCode | Stop {
  const sums = readReport(context, (ledger) => ledger.tagSums(query))
  if (isStop(sums)) return sums
  context.say({ data: sums.map(tagDocument) }, () => tagTable(sums))
  return EXIT.ok
}

/** `tag`: null where there is none, '' for those that share a row. */
export const tagFields = (tag: string | null) => ({ tag: tag === '' ? OTHER_TAGS : tag, is_shared: tag === '' })

const tagDocument = ({ tag, requests, usage, costPicos, waivedPicos }: TagSums) => ({
  ...tagFields(tag),
  requests,
  ...tokenFields(usage),
  ...usdFields('cost', costPicos),
  ...usdFields('waived', waivedPicos),
})

const tagTable = (sums: readonly TagSums[]): string =>
  tableText(
    ['TAG', 'REQUESTS', 'INPUT', 'OUTPUT', 'CACHE READ', 'CACHE WRITE', 'COST', 'WAIVED'],
    sums.map(({ tag, requests, usage, costPicos, waivedPicos }) => [
      tag === null ? '(none)' : tag === '' ? `(${OTHER_TAGS})` : tag,
      String(requests),
      ...tokenCells(usage),
      usdText(costPicos),
      usdText(waivedPicos),
    ]),
    'Nothing was used yet.',
  )

export function showMargin(
  context: CommandContext,
  by: MarginBy,
  { accountId, fromDay = FIRST_DAY, toDay = LAST_DAY }: TagQuery,
): ExitCode | Stop {
  const rows = readReport(context, (ledger) => {
    const found: MarginRow[] = []
    for (let after: string | null | undefined; after !== null; ) {
      const part = ledger.margin({ fromDay, toDay, accountIds: listOfOne(accountId), after })
      found.push(...(part?.rows ?? []))
      after = part?.next ?? null
    }
    return found
  })
  if (isStop(rows)) return rows
  const groups = groupMargin(rows, by)
  const total = sumMargin(rows)
  const lacking = withoutCost(context.config.catalog)
  context.say({ data: groups.map(marginDocument), total: sumsDocument(total), without_cost: lacking }, () => {
    const table = marginTable(by, groups, total)
    return lacking.length === 0 ? table : `${table}\n${withoutCostText(lacking)}`
  })
  return EXIT.ok
}

const sumsDocument = (sums: MarginSums) => ({
  requests: sums.requests,
  other_calls: sums.calls,
  ...usdFields('charged', sums.chargedPicos),
  ...usdFields('waived', sums.waivedPicos),
  ...usdFields('upstream_cost', upstreamCostIn(sums)),
  ...usdFields('other_calls_cost', sums.callsCostPicos),
  ...usdFields('cache_lost', sums.cacheLostPicos),
  ...usdFields('margin', marginIn(sums)),
})
const marginDocument = ({ id, name, ...sums }: MarginOf) => ({ id, name, ...sumsDocument(sums) })

function marginTable(by: MarginBy, groups: readonly MarginOf[], total: MarginSums): string {
  const cells = (sums: MarginSums): readonly string[] => [
    String(sums.requests),
    String(sums.calls),
    ...[sums.chargedPicos, upstreamCostIn(sums), sums.callsCostPicos, sums.waivedPicos, sums.cacheLostPicos, marginIn(sums)].map(usdText),
  ]
  const lines = groups.map(({ id, name, ...sums }) => [name === '' ? id : name, ...cells(sums)])
  return tableText(
    [by.toUpperCase(), 'REQUESTS', 'OTHER CALLS', 'CHARGED', 'COST', 'OF OTHER CALLS', 'WAIVED', 'LOST CACHE', 'MARGIN'],
    lines.length === 0 ? [] : [...lines, ['total', ...cells(total)]],
    'No call has a known cost: say what an upstream charges with cost in the settings.',
  )
}
