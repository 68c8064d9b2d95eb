/** `tollgate usage`: what was spent, a row a day, key and model. Rules: operator.md "Commands", "Lists". */

import { type Command, Option } from 'commander'
import { usdFields } from '../core/money.ts'
import { tokenCells, tokenFields } from '../ledger/columns/call-fields.ts'
import { MARGIN_BY, type MarginBy } from '../ledger/reading/margin.ts'
import type { UsageReport, UsageTotal } from '../ledger/reading/operator-lists.ts'
import { readDay } from './arguments.ts'
import type { CommandContext, Run } from './command-context.ts'
import { type ExitCode, isStop, type Stop, wrongUse } from './environment.ts'
import { type PagingOptions, sayPage, withPaging } from './paging.ts'
import { accountNamed, keyNamed, readReport } from './read-report.ts'
import { tableText, usdText } from './text.ts'
import { showByTag, showMargin } from './usage-sums.ts'

type By = 'tag' | MarginBy
type Options = PagingOptions & { key?: string; account?: string; from?: number; to?: number; by?: By; margin?: true }

export function addUsage(program: Command, run: Run): void {
  const usage = withPaging(program.command('usage'), /^\d{1,9}:\d{1,15}:\d{1,15}$/)
    .description('show what was spent by day, key and model; newest day first')
    .option('--key <KEY>', 'only of this key: its id or name')
    .option('--account <ACCOUNT>', 'only of this account: its id or name')
    .option('--from <DAY>', 'from this day on, in UTC', readDay)
    .option('--to <DAY>', 'up to the end of this day', readDay)
    .option('--margin', 'what was charged beside what it cost us, where an upstream says what it charges')
    .addOption(new Option('--by <WHAT>', 'sums by tag; with --margin by day, account, model or upstream').choices(['tag', ...MARGIN_BY]))
  usage.action((options: Options) => run(usage, (context) => showUsage(context, options)))
}

function showUsage(context: CommandContext, options: Options): ExitCode | Stop {
  const { key: keyName, account: accountName, from, to, limit, cursor, by, margin = false } = options
  if (margin && (keyName !== undefined || by === 'tag')) return wrongUse('--margin is by day, account, model or upstream, of all keys')
  if (!margin && by !== undefined && by !== 'tag') return wrongUse(`--by ${by} is of --margin`)
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
  if (margin) return showMargin(context, by === undefined || by === 'tag' ? 'day' : by, span)
  if (by === 'tag') return showByTag(context, span)
  const query = { ...span, after: cursor, limit }
  const found = readReport(context, ({ lists }) => ({ page: lists.usage(query), total: lists.usageTotal(query) }))
  if (isStop(found)) return found
  const { page, total } = found
  return sayPage(context, page, usageDocument, (rows) => usageTable(rows, total), { total: totalDocument(total) })
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
