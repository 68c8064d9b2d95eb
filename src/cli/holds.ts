/** `tollgate holds list`: what the running gateway has reserved, oldest first, as its memory has it. Rules: money.md "Holds"; operator.md "Socket". */

import type { Command } from 'commander'
import { usdFields } from '../core/money.ts'
import { isoOrNull } from '../core/utc.ts'
import type { Hold } from '../ledger/ledger.ts'
import { pageOf } from '../ledger/page.ts'
import { holdsThroughSocket } from '../operator/operator-socket.ts'
import type { CommandContext, Run } from './command-context.ts'
import { type ExitCode, isStop, noLedger, type Stop } from './environment.ts'
import { type PagingOptions, sayPage, withPaging } from './paging.ts'
import { accountNamed, keyNamed, readReport } from './read-report.ts'
import { tableText, timeText, usdText } from './text.ts'

type Options = PagingOptions & { key?: string; account?: string }

export function addHolds(program: Command, run: Run): void {
  const holds = program.command('holds').description('look at what is reserved now')
  const list = withPaging(holds.command('list'))
    .description(
      'requests in flight and what is reserved for each, oldest first; asks the running gateway, or Postgres what all nodes hold for more than a second',
    )
    .option('--key <KEY>', 'only of this key: its id or name')
    .option('--account <ACCOUNT>', 'only of this account: its id or name')
  list.action((options: Options) => run(list, (context) => listHolds(context, options)))
}

async function listHolds(
  context: CommandContext,
  { key: keyName, account: accountName, limit, cursor }: Options,
): Promise<ExitCode | Stop> {
  const key = keyName === undefined ? undefined : keyNamed(context, keyName)
  if (isStop(key)) return key
  const account = accountName === undefined ? undefined : accountNamed(context, accountName)
  if (isStop(account)) return account
  const query = { keyId: key?.id ?? null, accountId: account?.id ?? null, after: cursor ?? null, limit: limit + 1 }
  const { ledger } = context.config
  const found =
    ledger.kind === 'postgres' ? readReport(context, (report) => report.marks(query)) : await holdsThroughSocket(ledger.path, query)
  if (found === 'unavailable') return noLedger('the gateway did not answer')
  if (isStop(found)) return found
  const isRunning = found !== 'absent'
  const page = pageOf(isRunning ? found : [], limit, ({ requestId }) => requestId)
  const none =
    ledger.kind === 'postgres'
      ? 'Nothing is reserved for longer than a second.'
      : isRunning
        ? 'Nothing is reserved now.'
        : 'No gateway runs on this ledger, so nothing is reserved.'
  return sayPage(
    context,
    page,
    (hold) => holdDocument(hold),
    (rows) => holdTable(rows, none),
    ledger.kind === 'postgres' ? {} : { is_running: isRunning },
  )
}

const holdDocument = ({ requestId, keyId, accountId, modelId, format, isStream, amountPicos, startedAt }: Hold) => ({
  request_id: requestId,
  key_id: keyId,
  account_id: accountId,
  model: modelId,
  format,
  stream: isStream,
  ...usdFields('hold', amountPicos),
  started_at: isoOrNull(startedAt),
})

const holdTable = (rows: readonly Hold[], none: string): string =>
  tableText(
    ['REQUEST', 'SINCE', 'KEY', 'ACCOUNT', 'MODEL', 'FORMAT', 'RESERVED'],
    rows.map(({ requestId, startedAt, keyId, accountId, modelId, format, amountPicos }) => [
      requestId,
      timeText(startedAt),
      keyId,
      accountId,
      modelId,
      format,
      usdText(amountPicos),
    ]),
    none,
  )
