/** `tollgate usage`: what was spent, a row a day, key and model. Rules: operator.md "Commands", "Lists". */

import { type Command, Option } from 'commander'
import { DIMENSIONS, STEPS, type Step } from '../core/explore.ts'
import { usdFields } from '../core/money.ts'
import { tokenCells, tokenFields } from '../ledger/columns/call-fields.ts'
import type { ExploreFilters } from '../ledger/reading/explore-sql.ts'
import { MARGIN_BY, type MarginBy } from '../ledger/reading/margin.ts'
import type { UsageReport, UsageTotal } from '../ledger/reading/operator-lists.ts'
import { readDay } from './arguments.ts'
import type { CommandContext, Run } from './command-context.ts'
import { type ExitCode, isStop, type Stop, wrongUse } from './environment.ts'
import { type PagingOptions, sayPage, withPaging } from './paging.ts'
import { accountNamed, keyNamed, readReport } from './read-report.ts'
import { tableText, usdText } from './text.ts'
import { dimensionsOf, readOnly, showExplored } from './usage-explored.ts'
import { showByTag, showMargin } from './usage-sums.ts'

type Options = PagingOptions & {
  key?: string
  account?: string
  from?: number
  to?: number
  by?: string
  step?: Step
  only?: ExploreFilters
  margin?: true
}

const BY = `sums by one or two of ${DIMENSIONS.join(', ')}, with a comma between; with --margin by ${MARGIN_BY.join(', ')}`
const isOfMargin = (by: string): by is MarginBy => MARGIN_BY.some((one) => one === by)

export function addUsage(program: Command, run: Run): void {
  const usage = withPaging(program.command('usage'), /^\d{1,9}:\d{1,15}:\d{1,15}$/)
    .description('show what was spent by day, key and model; newest day first')
    .option('--key <KEY>', 'only of this key: its id or name')
    .option('--account <ACCOUNT>', 'only of this account: its id or name')
    .option('--from <DAY>', 'from this day on, in UTC', readDay)
    .option('--to <DAY>', 'up to the end of this day', readDay)
    .option('--margin', 'what was charged beside what it cost us, where an upstream says what it charges')
    .option('--by <WHAT>', BY)
    .addOption(new Option('--step <STEP>', 'with --by: the sums of each hour, day, week or month of UTC').choices(STEPS))
    .option(
      '--only <WHAT=ID>',
      'with --by: only of these, such as model=ID, a key or an account also by name; any number of times',
      readOnly,
    )
  usage.action((options: Options) => run(usage, (context) => showUsage(context, options)))
}

function showUsage(context: CommandContext, options: Options): ExitCode | Stop {
  const { key: keyName, account: accountName, from, to, limit, cursor, by, step, only = {}, margin = false } = options
  if (margin && (keyName !== undefined || (by !== undefined && !isOfMargin(by)) || step !== undefined || options.only !== undefined))
    return wrongUse('--margin is by day, account, model or upstream, of all keys')
  const dimensions = by === undefined || margin ? undefined : dimensionsOf(by)
  if (by !== undefined && !margin && dimensions === undefined) return wrongUse(`--by ${by} is none of: ${BY}`)
  if (by === undefined && (step !== undefined || options.only !== undefined)) return wrongUse('give --by with --step and --only')
  if ((keyName !== undefined && only.key !== undefined) || (accountName !== undefined && only.account !== undefined))
    return wrongUse('--key and --only key=, like --account and --only account=, say the same: give one of them')
  const key = keyName === undefined ? undefined : keyNamed(context, keyName)
  if (isStop(key)) return key
  const account = accountName === undefined ? undefined : accountNamed(context, accountName)
  if (isStop(account)) return account
  const span = {
    ...(key === undefined ? {} : { keyId: key.id }),
    ...(account === undefined ? {} : { accountId: account.id }),
    ...(from === undefined ? {} : { fromDay: from }),
    ...(to === undefined ? {} : { toDay: to }),
  }
  if (margin) return showMargin(context, by !== undefined && isOfMargin(by) ? by : 'day', span)
  if (by === 'tag' && step === undefined && options.only === undefined) return showByTag(context, span)
  if (dimensions !== undefined) {
    const own = { ...(key === undefined ? {} : { key: [key.id] }), ...(account === undefined ? {} : { account: [account.id] }) }
    const named = idsIn(only, { key: (name) => keyNamed(context, name), account: (name) => accountNamed(context, name) })
    return isStop(named) ? named : showExplored(context, { ...span, by: dimensions, step, only: { ...named, ...own } })
  }
  const query = { ...span, after: cursor, limit }
  const found = readReport(context, ({ lists }) => ({ page: lists.usage(query), total: lists.usageTotal(query) }))
  if (isStop(found)) return found
  const { page, total } = found
  return sayPage(context, page, usageDocument, (rows) => usageTable(rows, total), { total: totalDocument(total) })
}

type Finder = (name: string) => Readonly<{ id: string }> | Stop

/** Filters in which a key or an account stands by its id, given by id or name. */
function idsIn(only: ExploreFilters, find: Readonly<Record<'key' | 'account', Finder>>): ExploreFilters | Stop {
  const filters = { ...only }
  for (const dimension of ['key', 'account'] as const) {
    const found = only[dimension]?.map(find[dimension])
    const stop = found?.find(isStop)
    if (stop !== undefined) return stop
    if (found !== undefined) filters[dimension] = found.flatMap((one) => (isStop(one) ? [] : [one.id]))
  }
  return filters
}

const usageDocument = (row: UsageReport) => ({
  day: row.day,
  key_id: row.keyId,
  key_name: row.keyName,
  account_id: row.accountId,
  model: row.modelId,
  requests: row.requests,
  ...tokenFields(row.usage),
  ...usdFields('cost', row.costPicos),
  ...usdFields('waived', row.waivedPicos),
})

/** The total over all pages. */
const totalDocument = ({ requests, costPicos, waivedPicos }: UsageTotal) => ({
  requests,
  ...usdFields('cost', costPicos),
  ...usdFields('waived', waivedPicos),
})

function usageTable(rows: readonly UsageReport[], total: UsageTotal): string {
  const lines = rows.map((row) => [
    row.day,
    row.keyName === '' ? row.keyId : row.keyName,
    row.modelId,
    String(row.requests),
    ...tokenCells(row.usage),
    usdText(row.costPicos),
    usdText(row.waivedPicos),
  ])
  const sums = ['total', '', '', String(total.requests), '', '', '', '', usdText(total.costPicos), usdText(total.waivedPicos)]
  return tableText(
    ['DAY', 'KEY', 'MODEL', 'REQUESTS', 'INPUT', 'OUTPUT', 'CACHE READ', 'CACHE WRITE', 'COST', 'WAIVED'],
    rows.length === 0 ? [] : [...lines, sums],
    'Nothing was used yet.',
  )
}
