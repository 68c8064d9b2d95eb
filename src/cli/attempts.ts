/** `tollgate attempts list`: upstream calls that may have cost us money and have no receipt. Rules: operator.md "Lists". */

import type { Command } from 'commander'
import { usdFields } from '../core/money.ts'
import { isoOrNull } from '../core/utc.ts'
import { tokenCells, tokenFields, upstreamFields } from '../ledger/columns/call-fields.ts'
import type { AttemptRow } from '../ledger/reading/attempt-rows.ts'
import type { CommandContext, Run } from './command-context.ts'
import { type ExitCode, isStop, type Stop } from './environment.ts'
import { type PagingOptions, type RangeOptions, sayPage, withPaging, withRange } from './paging.ts'
import { readReport } from './read-report.ts'
import { tableText, timeText, usdText } from './text.ts'

type Options = PagingOptions & RangeOptions & { request?: string }

export function addAttempts(program: Command, run: Run): void {
  const attempts = program.command('attempts').description('look through upstream calls that no receipt stands for')
  const list = withRange(withPaging(attempts.command('list'), /^req_\w+:\d{1,9}$/), 'of requests that came in')
    .description('upstream calls that may have cost us money and are not the one of a receipt; newest request first')
    .option('--request <ID>', 'only of this request')
  list.action((options: Options) => run(list, (context) => listAttempts(context, options)))
}

function listAttempts(context: CommandContext, { request, from, to, limit, cursor }: Options): ExitCode | Stop {
  const page = readReport(context, ({ lists }) => lists.attempts({ requestId: request, from, to, after: cursor, limit }))
  return isStop(page) ? page : sayPage(context, page, attemptDocument, attemptTable)
}

export const attemptDocument = (row: AttemptRow) => ({
  request_id: row.requestId,
  attempt: row.number,
  account_id: row.accountId,
  key_id: row.keyId,
  model: row.modelId,
  ...upstreamFields(row.upstream),
  status: row.status,
  cause: row.cause,
  basis: row.usageSource,
  ...tokenFields(row.usage),
  ...usdFields('price', row.pricePicos),
  ...usdFields('upstream_cost', row.upstreamCostPicos),
  started_at: isoOrNull(row.startedAt),
  duration_ms: row.durationMs,
})

export const attemptTable = (rows: readonly AttemptRow[]): string =>
  tableText(
    ['REQUEST', 'NO', 'STARTED', 'UPSTREAM', 'MODEL', 'STATUS', 'CAUSE', 'BASIS', 'INPUT', 'OUTPUT', 'CACHE READ', 'CACHE WRITE', 'PRICE'],
    rows.map((row) => [
      row.requestId,
      String(row.number),
      timeText(row.startedAt),
      row.upstream.name,
      row.upstream.model,
      row.status === null ? 'none' : String(row.status),
      row.cause,
      row.usageSource,
      ...tokenCells(row.usage),
      usdText(row.pricePicos),
    ]),
    'No attempt was found: each request was answered by its first call, or cost us nothing.',
  )
