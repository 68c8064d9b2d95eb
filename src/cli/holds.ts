/** `tollgate holds list`: what is reserved now, oldest first. Rules: money.md "Holds"; operator.md "Socket". */

import type { Command } from 'commander'
import { usdFields } from '../core/money.ts'
import { isoOrNull } from '../core/utc.ts'
import type { Hold } from '../ledger/ledger.ts'
import { pageOf } from '../ledger/reading/page.ts'
import { lockHolderOf } from '../ledger/sqlite/file-id.ts'
import { type CommandContext, type Run, tell } from './command-context.ts'
import { type ExitCode, isStop, noLedger, type Stop } from './environment.ts'
import { holdsNow } from './held-now.ts'
import { type PagingOptions, sayPage, withPaging } from './paging.ts'
import { accountNamed, keyNamed } from './read-report.ts'
import { unanswered } from './several.ts'
import { tableText, timeText, usdText } from './text.ts'

type Options = PagingOptions & { key?: string; account?: string }

export function addHolds(program: Command, run: Run): void {
  const holds = program.command('holds').description('look at what is reserved now')
  const list = withPaging(holds.command('list'), /^req_\w+$/)
    .description(
      'requests in flight and what is reserved for each, oldest first; asks the gateways that run here, and Postgres what other nodes hold for more than a second',
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
  const now = await holdsNow(context, query)
  if (isStop(now)) return now
  const { holds, count, silent } = now
  if (ledger.kind === 'sqlite' && silent.some(({ pid }) => pid === null)) return noLedger('the gateway did not answer')
  const holder = ledger.kind === 'sqlite' && count === 0 ? lockHolderOf(ledger.path) : undefined
  if (holder !== undefined)
    return noLedger(`pid ${holder} has the ledger open and no operator socket: a gateway makes it again within a second`)
  const page = pageOf(holds, limit, ({ requestId }) => requestId)
  const isRunning = count > 0
  const none =
    ledger.kind === 'postgres'
      ? 'Nothing is reserved here, nor by other nodes for longer than a second.'
      : isRunning
        ? 'Nothing is reserved now.'
        : 'No gateway runs on this ledger, so nothing is reserved.'
  const code = sayPage(
    context,
    page,
    (hold) => holdDocument(hold),
    (rows) => holdTable(rows, none),
    ledger.kind === 'postgres' ? {} : { is_running: isRunning },
  )
  return silent.length === 0 ? code : tell(context.environment, unanswered(silent, 'what it holds for less than a second is missing'))
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
