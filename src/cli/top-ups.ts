/** `tollgate top-ups list`: the money that was put on accounts or taken from them by operators, newest first. Rules: operator.md "Credits", "Lists". */

import type { Command } from 'commander'
import { usdFields } from '../core/money.ts'
import { isoOrNull } from '../core/utc.ts'
import type { CreditRow } from '../ledger/reading/operator-lists.ts'
import { readRef } from './arguments.ts'
import type { CommandContext, Run } from './command-context.ts'
import { type ExitCode, isStop, type Stop } from './environment.ts'
import { type PagingOptions, type RangeOptions, sayPage, withPaging, withRange } from './paging.ts'
import { accountNamed, readReport } from './read-report.ts'
import { tableText, timeText, usdText } from './text.ts'

type Options = PagingOptions & RangeOptions & { account?: string; ref?: string }

export function addTopUps(program: Command, run: Run): void {
  const topUps = program.command('top-ups').description('look through top-ups, refunds and corrections')
  const list = withRange(withPaging(topUps.command('list'), /^crd_\w+$/), 'made')
    .description('top-ups, refunds and corrections; newest first')
    .option('--account <ACCOUNT>', 'only of this account: its id or name')
    .option('--ref <REF>', 'only the one with this reference', readRef)
  list.action((options: Options) => run(list, (context) => listTopUps(context, options)))
}

function listTopUps(context: CommandContext, { account: name, ref, from, to, limit, cursor }: Options): ExitCode | Stop {
  const account = name === undefined ? undefined : accountNamed(context, name)
  if (isStop(account)) return account
  const page = readReport(context, ({ lists }) => lists.credits({ accountId: account?.id, ref, from, to, after: cursor, limit }))
  return isStop(page) ? page : sayPage(context, page, creditDocument, creditTable)
}

const creditDocument = ({ id, accountId, accountName, kind, amountPicos, ref, actor, reason, createdAt }: CreditRow) => ({
  id,
  account_id: accountId,
  account_name: accountName,
  kind,
  ...usdFields('amount', amountPicos),
  ref,
  actor,
  reason,
  created_at: isoOrNull(createdAt),
})

const creditTable = (rows: readonly CreditRow[]): string =>
  tableText(
    ['ID', 'AT', 'ACCOUNT', 'KIND', 'AMOUNT', 'REF', 'ACTOR', 'REASON'],
    rows.map(({ id, accountId, accountName, kind, amountPicos, ref, actor, reason, createdAt }) => [
      id,
      timeText(createdAt),
      accountName === '' ? accountId : accountName,
      kind,
      usdText(amountPicos),
      ref,
      actor,
      reason,
    ]),
    'No top-up was found.',
  )
