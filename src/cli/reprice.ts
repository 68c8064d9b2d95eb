/** `tollgate reprice --models FILE`: what past requests would have cost under another catalogue. Rules: money.md "What if"; operator.md "Commands". */

import type { Command } from 'commander'
import { loadModels } from '../config/load-models.ts'
import { textOfProblem } from '../config/problems.ts'
import { type Picos, picos, toExactUsdText, usdFields } from '../core/money.ts'
import { differenceOf, type Repriced, RepricedSums } from '../core/reprice.ts'
import { isoOrNull } from '../core/utc.ts'
import { LOOKED_AT_MAX } from '../ledger/reading/page.ts'
import type { Report } from '../ledger/report.ts'
import { readFrom, readTo } from './arguments.ts'
import { type CommandContext, type Run, withJson } from './command-context.ts'
import { EXIT, type ExitCode, isStop, type Stop, wrongUse } from './environment.ts'
import { accountNamed, readReport } from './read-report.ts'
import { factsText, tableText } from './text.ts'

type Options = { models: string; from?: number; to?: number; account?: string }
type Query = Omit<Parameters<Report['repriced']>[0], 'after' | 'limit'>

/** All of them are in the document of `--json`. */
const ACCOUNTS_SHOWN_MAX = 50

export function addReprice(program: Command, run: Run): void {
  const reprice = withJson(program.command('reprice'))
    .description('show what past requests would have cost under other prices; nothing is written')
    .requiredOption('--models <FILE>', 'the prices: a tollgate.toml, or a file with [[models]] alone')
    .option('--from <TIME>', 'only requests that came in from this day or time on', readFrom)
    .option('--to <TIME>', 'only requests that came in before this time, or up to the end of this day', readTo)
    .option('--account <ACCOUNT>', 'only of this account: its id or name')
  reprice.action((options: Options) => run(reprice, (context) => showRepriced(context, options)))
}

function showRepriced(context: CommandContext, { models: file, from, to, account: name }: Options): ExitCode | Stop {
  const prices = loadModels(file, context.environment.folder)
  if ('problems' in prices) return wrongUse(`${prices.file} has mistakes: ${prices.problems.map(textOfProblem).join('; ')}`)
  const account = name === undefined ? undefined : accountNamed(context, name)
  if (isStop(account)) return account
  const query = { prices, accountId: account?.id, from, to }
  const sums = readReport(context, (report) => sumsOf(report, query))
  if (isStop(sums)) return sums
  context.say(documentOf(sums, { from, to }), () => textOf(sums))
  return EXIT.ok
}

/** Newest first: what comes in meanwhile comes before the first part, and the last one always comes. */
function sumsOf(report: Report, query: Query): RepricedSums {
  const sums = new RepricedSums()
  for (let after: string | undefined; ; ) {
    const part = report.repriced({ ...query, after, limit: LOOKED_AT_MAX })
    sums.add(part.rows)
    if (part.next === null) return sums
    after = part.next
  }
}

const documentOf = (sums: RepricedSums, { from, to }: Readonly<Record<'from' | 'to', number | undefined>>) => ({
  from: isoOrNull(from ?? null),
  to: isoOrNull(to ?? null),
  total: sumDocument(sums.total),
  models: sums.models().map(({ modelId, ...sum }) => ({ model: modelId, is_missing: sum.missing.receipts > 0, ...sumDocument(sum) })),
  accounts: sums
    .accounts()
    .map(({ accountId, accountName, ...sum }) => ({ account_id: accountId, name: accountName, ...sumDocument(sum) })),
})

const sumDocument = (sum: Repriced) => ({
  receipts: sum.charged.receipts,
  ...usdFields('charged', sum.charged.nowPicos),
  ...usdFields('repriced', sum.charged.thenPicos),
  ...usdFields('difference', differenceOf(sum)),
  waived: {
    receipts: sum.waived.receipts,
    ...usdFields('waived', sum.waived.nowPicos),
    ...usdFields('repriced', sum.waived.thenPicos),
    ...usdFields('difference', picos(sum.waived.thenPicos - sum.waived.nowPicos)),
  },
  missing: { receipts: sum.missing.receipts, ...usdFields('charged', sum.missing.nowPicos) },
})

const HEAD = ['RECEIPTS', 'CHARGED', 'REPRICED', 'DIFFERENCE']

function textOf(sums: RepricedSums): string {
  const { total } = sums
  const models = sums.models()
  const accounts = sums.accounts()
  if (models.length === 0) return 'There are no receipts.'
  const priced = models.filter(({ missing }) => missing.receipts === 0)
  const missing = models.filter((model) => model.missing.receipts > 0)
  const more = accounts.length - ACCOUNTS_SHOWN_MAX
  return [
    tableText(
      ['MODEL', ...HEAD],
      [...priced.map((model) => [model.modelId, ...cells(model)]), ['total', ...cells(total)]],
      'No receipt is of a model that the file has.',
    ),
    '',
    tableText(
      ['ACCOUNT', 'NAME', ...HEAD],
      accounts.slice(0, ACCOUNTS_SHOWN_MAX).map((account) => [account.accountId, account.accountName, ...cells(account)]),
      '',
    ),
    ...(more > 0 ? [`And ${more} accounts with smaller differences: --json has all.`] : []),
    '',
    factsText([
      [
        'waived',
        `${countText(total.waived.receipts)} of ${exactText(total.waived.nowPicos)}, repriced ${exactText(total.waived.thenPicos)}`,
      ],
      ['not in the file', `${countText(total.missing.receipts)}, charged ${exactText(total.missing.nowPicos)}`],
      ...missing.map((model): readonly [string, string] => [
        `  ${model.modelId}`,
        `${countText(model.missing.receipts)}, charged ${exactText(model.missing.nowPicos)}`,
      ]),
    ]),
  ].join('\n')
}

const cells = (sum: Repriced): readonly string[] => [
  String(sum.charged.receipts),
  exactText(sum.charged.nowPicos),
  exactText(sum.charged.thenPicos),
  exactText(differenceOf(sum)),
]

const countText = (receipts: number): string => `${receipts} ${receipts === 1 ? 'receipt' : 'receipts'}`
const exactText = (amount: Picos): string => `$${toExactUsdText(amount)}`.replace('$-', '-$')
