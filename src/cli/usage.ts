/** `tollgate usage`: what was spent, a row a day, key and model. Rules: operator.md "Commands". */

import type { Command } from 'commander'
import { sumPicos, toUsd } from '../core/money.ts'
import type { UsageReport } from '../ledger/report.ts'
import { type CommandContext, type Run, withJson } from './command-context.ts'
import { EXIT, type ExitCode, isStop, type Stop } from './environment.ts'
import { keyNamed, readReport } from './read-report.ts'
import { tableText, usdText } from './text.ts'

export function addUsage(program: Command, run: Run): void {
  const usage = withJson(program.command('usage'))
    .description('show what was spent')
    .option('--key <KEY>', 'only of this key: its id or name')
  usage.action((options: { key?: string }) => run(usage, (context) => showUsage(context, options.key)))
}

function showUsage(context: CommandContext, keyName: string | undefined): ExitCode | Stop {
  const key = keyName === undefined ? undefined : keyNamed(context, keyName)
  if (isStop(key)) return key
  const rows = readReport(context, (report) => report.usage(key === undefined ? {} : { keyId: key.id }))
  if (isStop(rows)) return rows
  context.say({ data: rows.map(usageDocument) }, () => usageTable(rows))
  return EXIT.ok
}

const usageDocument = (row: UsageReport) => ({
  day: row.day,
  key_id: row.keyId,
  key_name: row.keyName,
  account_id: row.accountId,
  model: row.modelId,
  requests: row.requests,
  input_tokens: row.inputTokens,
  output_tokens: row.outputTokens,
  cache_read_input_tokens: row.cacheReadTokens,
  cache_creation_input_tokens: row.cacheWrite5mTokens + row.cacheWrite1hTokens,
  cache_creation: { ephemeral_5m_input_tokens: row.cacheWrite5mTokens, ephemeral_1h_input_tokens: row.cacheWrite1hTokens },
  server_tool_uses: row.serverToolUses,
  cost_usd: toUsd(row.costPicos),
  waived_usd: toUsd(row.waivedPicos),
})

function usageTable(rows: readonly UsageReport[]): string {
  const lines = rows.map((row) => [
    row.day,
    row.keyName === '' ? row.keyId : row.keyName,
    row.modelId,
    ...[row.requests, row.inputTokens, row.outputTokens, row.cacheReadTokens, row.cacheWrite5mTokens + row.cacheWrite1hTokens].map(String),
    usdText(row.costPicos),
    usdText(row.waivedPicos),
  ])
  const total = [
    'total',
    '',
    '',
    '',
    '',
    '',
    '',
    '',
    usdText(sumPicos(...rows.map((row) => row.costPicos))),
    usdText(sumPicos(...rows.map((row) => row.waivedPicos))),
  ]
  return tableText(
    ['DAY', 'KEY', 'MODEL', 'REQUESTS', 'INPUT', 'OUTPUT', 'CACHE READ', 'CACHE WRITE', 'COST', 'WAIVED'],
    rows.length === 0 ? [] : [...lines, total],
    'Nothing was used yet.',
  )
}
