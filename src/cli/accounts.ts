/** `tollgate accounts …`: the balances that keys spend from. Rules: operator.md "Keys and accounts". */

import type { Command } from 'commander'
import { type Picos, toUsd, ZERO } from '../core/money.ts'
import type { Operation } from '../ledger/operation.ts'
import type { AccountReport } from '../ledger/report.ts'
import { readBudget, readName, readTopUp } from './arguments.ts'
import { type CommandContext, type Run, withJson } from './command-context.ts'
import { EXIT, type ExitCode, isStop, type Stop, wrongUse } from './environment.ts'
import { newId } from './new-id.ts'
import { operate } from './operate.ts'
import { accountNamed, readReport } from './read-report.ts'
import { factsText, isoOrNull, tableText, timeText, usdText } from './text.ts'

const ACCOUNT = '<ACCOUNT>'
const ACCOUNT_TEXT = 'id or name of an account'

type CreateOptions = { name?: string; balance?: Picos }

export function addAccounts(program: Command, run: Run): void {
  const accounts = program.command('accounts').description('make, show, top up and change accounts')
  const create = withJson(accounts.command('create'))
    .description('make an account')
    .argument('[NAME]', 'a name that no other account has', readName)
    .option('--name <NAME>', 'the same', readName)
    .option('--balance <USD>', 'tops it up', readBudget)
  create.action((name: string | undefined, options: CreateOptions) => run(create, (context) => createAccount(context, name, options)))

  const list = withJson(accounts.command('list')).description('show every account')
  list.action(() => run(list, listAccounts))

  const topUp = withJson(accounts.command('top-up'))
    .description('add to the balance; a negative amount corrects it')
    .argument(ACCOUNT, ACCOUNT_TEXT)
    .argument('<USD>', 'the amount', readTopUp)
    .option('--ref <REF>', "the payment's reference; each is credited once")
  topUp.action((account: string, amountPicos: Picos, options: { ref?: string }) =>
    run(topUp, (context) => changeAccount(context, account, ({ id }, now) => topUpOf(id, amountPicos, options.ref ?? '', now))),
  )

  for (const [name, isActive] of [
    ['disable', false],
    ['enable', true],
  ] as const) {
    const command = withJson(accounts.command(name)).description(`${name} an account and all its keys`).argument(ACCOUNT, ACCOUNT_TEXT)
    command.action((account: string) =>
      run(command, (context) =>
        changeAccount(context, account, ({ id }, now) => ({ kind: 'setAccountActive', accountId: id, isActive, now })),
      ),
    )
  }
}

async function createAccount(context: CommandContext, argument: string | undefined, options: CreateOptions): Promise<ExitCode | Stop> {
  if (argument !== undefined && options.name !== undefined) return wrongUse('give the name once: as NAME or with --name')
  const now = context.environment.now()
  const accountId = newId('acc', now)
  const operations: Operation[] = [{ kind: 'createAccount', accountId, name: argument ?? options.name ?? '', now }]
  if (options.balance !== undefined && options.balance !== ZERO) operations.push(topUpOf(accountId, options.balance, '', now))
  for (const operation of operations) {
    const stop = await operate(context, operation, { create: true })
    if (stop !== undefined) return stop
  }
  return showAccount(context, accountId)
}

function listAccounts(context: CommandContext): ExitCode | Stop {
  const accounts = readReport(context, (report) => report.accounts())
  if (isStop(accounts)) return accounts
  context.say({ data: accounts.map(accountDocument) }, () => accountTable(accounts))
  return EXIT.ok
}

function showAccount(context: CommandContext, name: string): ExitCode | Stop {
  const account = accountNamed(context, name)
  if (isStop(account)) return account
  context.say(accountDocument(account), () => factsText(accountFacts(account)))
  return EXIT.ok
}

/** Finds the account, does what `operationOn` says, and shows the account as it is then. */
async function changeAccount(
  context: CommandContext,
  name: string,
  operationOn: (account: AccountReport, now: number) => Operation,
): Promise<ExitCode | Stop> {
  const account = accountNamed(context, name)
  if (isStop(account)) return account
  const stop = await operate(context, operationOn(account, context.environment.now()), { create: false })
  return stop ?? showAccount(context, account.id)
}

const topUpOf = (accountId: string, amountPicos: Picos, ref: string, now: number): Operation => ({
  kind: 'topUp',
  topUpId: newId('top', now),
  accountId,
  amountPicos,
  ref,
  now,
})

const accountDocument = (account: AccountReport) => ({
  id: account.id,
  name: account.name,
  balance_usd: toUsd(account.balancePicos),
  credited_usd: toUsd(account.creditedPicos),
  spent_usd: toUsd(account.spentPicos),
  held_usd: toUsd(account.heldPicos),
  keys: account.keyCount,
  is_active: account.isActive,
  created_at: isoOrNull(account.createdAt),
})

const stateText = (account: AccountReport): string => (account.isActive ? 'live' : 'disabled')

const accountFacts = (account: AccountReport): readonly (readonly [string, string])[] => [
  ['id', account.id],
  ['name', account.name],
  ['balance', usdText(account.balancePicos)],
  ['credited', usdText(account.creditedPicos)],
  ['spent', usdText(account.spentPicos)],
  ['held', usdText(account.heldPicos)],
  ['state', stateText(account)],
  ['created', timeText(account.createdAt)],
]

const accountTable = (accounts: readonly AccountReport[]): string =>
  tableText(
    ['ID', 'NAME', 'BALANCE', 'CREDITED', 'SPENT', 'HELD', 'KEYS', 'STATE'],
    accounts.map((account) => [
      account.id,
      account.name,
      usdText(account.balancePicos),
      usdText(account.creditedPicos),
      usdText(account.spentPicos),
      usdText(account.heldPicos),
      String(account.keyCount),
      stateText(account),
    ]),
    'There are no accounts yet: `tollgate accounts create NAME` makes one.',
  )
