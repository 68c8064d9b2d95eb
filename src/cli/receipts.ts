/** `tollgate receipts list|show`: what requests cost, and how the cost of one was computed. Rules: money.md "Prices", "Charges"; operator.md "Lists". */

import { type Command, Option } from 'commander'
import { type Picos, usdFields } from '../core/money.ts'
import { OUTCOMES, type Outcome } from '../core/outcome.ts'
import { type PricedLine, pricedLines } from '../core/priced-lines.ts'
import type { Usage } from '../core/usage.ts'
import { priceLevelOf, tokenCells } from '../ledger/columns/call-fields.ts'
import { type ReceiptRow, receiptDocument } from '../ledger/columns/receipt.ts'
import type { AttemptRow } from '../ledger/reading/attempt-rows.ts'
import { listOfOne } from '../ledger/reading/receipt-filter.ts'
import { attemptDocument, attemptTable } from './attempts.ts'
import { type CommandContext, type Run, withJson } from './command-context.ts'
import { EXIT, type ExitCode, isStop, type Stop, wrongUse } from './environment.ts'
import { type PagingOptions, type RangeOptions, sayPage, withPaging, withRange } from './paging.ts'
import { accountNamed, keyNamed, readReport } from './read-report.ts'
import { factsText, tableText, timeText, usdText } from './text.ts'

type ListOptions = PagingOptions &
  RangeOptions & {
    key?: string
    account?: string
    model?: string
    tag?: string
    outcome?: Outcome
    overHold?: true
    waived?: true
    estimated?: true
  }

export function addReceipts(program: Command, run: Run): void {
  const receipts = program.command('receipts').description('look through what requests cost')
  const list = withRange(withPaging(receipts.command('list'), /^req_\w+$/), 'that came in (with --key or --account: that were settled)')
    .description('receipts, newest first')
    .option('--key <KEY>', 'only of this key: its id or name')
    .option('--account <ACCOUNT>', 'only of this account: its id or name')
    .option('--model <ID>', 'only of this model')
    .option('--tag <TAG>', 'only those with this tag')
    .addOption(new Option('--outcome <OUTCOME>', 'only those that ended so').choices(OUTCOMES))
    .option('--over-hold', 'only those that cost more than was reserved for them')
    .addOption(new Option('--waived', 'only those whose price was waived').conflicts('overHold'))
    .addOption(new Option('--estimated', 'only those whose tokens were estimated').conflicts(['overHold', 'waived']))
  list.action((options: ListOptions) => run(list, (context) => listReceipts(context, options)))

  const show = withJson(receipts.command('show'))
    .description('one receipt: counts × rates, how it ended, its upstream calls')
    .argument('<ID>', 'a request id')
  show.action((id: string) => run(show, (context) => showReceipt(context, id)))
}

function listReceipts(context: CommandContext, options: ListOptions): ExitCode | Stop {
  const { key: keyName, account: accountName, from, to, limit, cursor, model, tag, outcome, overHold, waived, estimated } = options
  if (keyName !== undefined && accountName !== undefined) return wrongUse('give --key or --account, not both')
  const key = keyName === undefined ? undefined : keyNamed(context, keyName)
  if (isStop(key)) return key
  const account = accountName === undefined ? undefined : accountNamed(context, accountName)
  if (isStop(account)) return account
  const only = overHold ? 'over hold' : waived ? 'waived' : undefined
  const of = { keyIds: listOfOne(key?.id), accountIds: listOfOne(account?.id) }
  const usageSource = estimated ? ('estimated' as const) : undefined
  const filter = { modelIds: listOfOne(model), outcomes: listOfOne(outcome), usageSource, tag }
  const found = readReport(context, ({ receipts }) => ({ page: receipts.list({ of, ...filter, only, from, to, after: cursor, limit }) }))
  if (isStop(found)) return found
  return found.page === undefined ? wrongUse('this cursor is of another list') : sayPage(context, found.page, receiptDocument, receiptTable)
}

function showReceipt(context: CommandContext, id: string): ExitCode | Stop {
  const found = readReport(context, ({ receipts }) => ({ receipt: receipts.receipt(id), attempts: receipts.attempts(id) }))
  if (isStop(found)) return found
  const { receipt, attempts } = found
  if (receipt === undefined && attempts.length === 0)
    return wrongUse(`there is no receipt of ${id}: nothing was charged for it, or it has not ended`)
  const of =
    receipt === undefined
      ? { request_id: id, receipt: null }
      : {
          ...receiptDocument(receipt),
          price_level: priceLevelOf(receipt),
          lines: pricedLines(receipt.usage, receipt.rates).map(lineDocument),
        }
  context.say({ ...of, other_attempts: attempts.map(attemptDocument) }, () => receiptText(id, receipt, attempts))
  return EXIT.ok
}

const receiptTable = (rows: readonly ReceiptRow[]): string =>
  tableText(
    ['REQUEST', 'SETTLED', 'KEY', 'MODEL', 'OUTCOME', 'BASIS', 'INPUT', 'OUTPUT', 'CACHE READ', 'CACHE WRITE', 'COST', 'WAIVED', 'HELD'],
    rows.map((row) => [
      row.requestId,
      timeText(row.settledAt),
      row.keyName === '' ? row.keyId : row.keyName,
      row.modelId,
      row.outcome,
      row.usageSource,
      ...tokenCells(row.usage),
      usdText(row.costPicos),
      usdText(row.waivedPicos),
      usdText(row.holdPicos),
    ]),
    'No receipt was found.',
  )

const NAMES: Readonly<Record<keyof Usage, string>> = {
  input: 'input',
  output: 'output',
  cacheRead: 'cache read',
  cacheWrite5m: 'cache write 5m',
  cacheWrite1h: 'cache write 1h',
  serverToolUses: 'tool use',
}

const lineDocument = ({ counter, count, ratePicos, pricePicos }: PricedLine) => ({
  name: NAMES[counter],
  count,
  ...usdFields('rate', ratePicos),
  ...usdFields('price', pricePicos),
})

function receiptText(id: string, receipt: ReceiptRow | undefined, attempts: readonly AttemptRow[]): string {
  const others = attempts.length === 0 ? [] : ['', 'Other upstream calls of this request:', '', attemptTable(attempts)]
  if (receipt === undefined) return [`There is no receipt of ${id}: its client paid nothing.`, ...others].join('\n')
  const lines = pricedLines(receipt.usage, receipt.rates).map(({ counter, count, ratePicos, pricePicos }) => [
    NAMES[counter],
    String(count),
    '×',
    exactText(ratePicos),
    '=',
    exactText(pricePicos),
  ])
  return [factsText(receiptFacts(receipt)), '', tableText(['', 'COUNT', '', 'RATE', '', 'PRICE'], lines, ''), ...others].join('\n')
}

const exactText = (amount: Picos): string => `$${usdFields('x', amount).x_usd_exact}`

function priceFact(row: ReceiptRow): readonly (readonly [string, string])[] {
  const level = priceLevelOf(row)
  return level === null ? [] : [['price level', `prompts above ${level.above_prompt_tokens} tokens; this one has ${level.prompt_tokens}`]]
}

function receiptFacts(row: ReceiptRow): readonly (readonly [string, string])[] {
  const { upstream } = row
  const estimate = row.bytesPerToken === null ? '' : `, ${row.bytesPerToken} bytes a token`
  return [
    ['request', row.requestId],
    ['key', row.keyName === '' ? row.keyId : `${row.keyName} (${row.keyId})`],
    ['account', row.accountId],
    ['model', row.modelId],
    ['format', `${row.format}, ${row.isStream ? 'streamed' : 'in one piece'}`],
    ['outcome', `${row.outcome} (status ${row.status})`],
    ...priceFact(row),
    ['basis', `${row.usageSource}${estimate}`],
    ['cost', exactText(row.costPicos)],
    ['waived', exactText(row.waivedPicos)],
    ['held', exactText(row.holdPicos)],
    ['upstream', upstream === null ? 'none answered' : `${upstream.name}, ${upstream.model}`],
    ['upstream ids', upstream === null ? '' : [upstream.messageId, upstream.requestId].filter((one) => one !== undefined).join(', ')],
    ['attempts', String(row.attempts)],
    ['started', timeText(row.startedAt)],
    ['settled', timeText(row.settledAt)],
    ['first byte', row.firstByteMs === null ? 'none' : `${row.firstByteMs} ms`],
    ['duration', `${row.durationMs} ms`],
  ]
}
