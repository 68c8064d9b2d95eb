/** `tollgate accounts …`: the balances that keys spend from. Rules: operator.md "Keys and accounts", "Credits". */

import { Argument, type Command, Option } from 'commander'
import { type Picos, toUsdText, usdFields, ZERO } from '../core/money.ts'
import { isoOrNull } from '../core/utc.ts'
import type { CreditKind, Earlier, Operation } from '../ledger/operation.ts'
import { creditOf, firstTopUp } from '../ledger/operations/account-writes.ts'
import { newId } from '../ledger/operations/new-id.ts'
import type { AccountReport } from '../ledger/reading/account-lists.ts'
import { REF_WITHOUT_BALANCE, readAmount, readBudget, readCorrection, readName, readReason, readRef } from './arguments.ts'
import { type CommandContext, type Run, withJson } from './command-context.ts'
import { EXIT, type ExitCode, isStop, type Stop, wrongUse } from './environment.ts'
import { withHeldNow } from './held-now.ts'
import { operate, type Why, withReason } from './operate.ts'
import { type PagingOptions, sayPage, withPaging } from './paging.ts'
import { accountNamed, readReport } from './read-report.ts'
import { factsText, tableText, timeText, usdText } from './text.ts'

const ACCOUNT = '<ACCOUNT>'
const ACCOUNT_TEXT = 'id or name of an account'
const REF_TEXT = 'the reference of the payment, which is credited once: given again, nothing is done'

type CreateOptions = Why & { name?: string; balance?: Picos; ref?: string }
type ListOptions = PagingOptions & { name?: string; state?: 'live' | 'disabled' }
type CreditOptions = Why & { ref?: string }

export function addAccounts(program: Command, run: Run): void {
  const accounts = program.command('accounts').description('make, show, top up and change accounts')
  const create = withReason(withJson(accounts.command('create')))
    .description('make an account')
    .argument('[NAME]', 'a name that no other account has', readName)
    .option('--name <NAME>', 'the same', readName)
    .option('--balance <USD>', 'tops it up', readBudget)
    .option('--ref <REF>', REF_TEXT, readRef)
  create.action((name: string | undefined, options: CreateOptions) => run(create, (context) => createAccount(context, name, options)))

  const list = withPaging(accounts.command('list'), /^acc_\w+$/)
    .description('accounts, newest first')
    .option('--name <TEXT>', 'only those whose name begins so; A to Z in either case')
    .addOption(new Option('--state <STATE>', 'only those that are so').choices(['live', 'disabled']))
  list.action((options: ListOptions) => run(list, (context) => listAccounts(context, options)))

  const rename = withReason(withJson(accounts.command('rename')))
    .description('give an account another name')
    .argument(ACCOUNT, ACCOUNT_TEXT)
    .argument('<NAME>', 'a name that no other account has', readName)
  rename.action((account: string, name: string, why: Why) =>
    run(rename, (context) => changeAccount(context, account, why, ({ id }, now) => ({ kind: 'renameAccount', accountId: id, name, now }))),
  )

  const tags = withReason(withJson(accounts.command('tags')))
    .description('whether the ids of end users in requests are tags of their spend')
    .argument(ACCOUNT, ACCOUNT_TEXT)
    .addArgument(new Argument('<WHETHER>', 'on or off').choices(['on', 'off']))
  tags.action((account: string, whether: 'on' | 'off', why: Why) =>
    run(tags, (context) =>
      changeAccount(context, account, why, ({ id }, now) => ({
        kind: 'setAccountTags',
        accountId: id,
        tagsUserIds: whether === 'on',
        now,
      })),
    ),
  )

  addCredits(accounts, run)
  for (const [name, isActive] of [
    ['disable', false],
    ['enable', true],
  ] as const) {
    const command = withReason(withJson(accounts.command(name)))
      .description(`${name} an account and all its keys`)
      .argument(ACCOUNT, ACCOUNT_TEXT)
    command.action((account: string, why: Why) =>
      run(command, (context) =>
        changeAccount(context, account, why, ({ id }, now) => ({ kind: 'setAccountActive', accountId: id, isActive, now })),
      ),
    )
  }
}

function addCredits(accounts: Command, run: Run): void {
  const credit = (name: string, creditKind: CreditKind, description: string, readUsd: (text: string) => Picos): Command => {
    const command = withJson(accounts.command(name))
      .description(description)
      .argument(ACCOUNT, ACCOUNT_TEXT)
      .argument('<USD>', 'the amount', readUsd)
      .option('--ref <REF>', REF_TEXT, readRef)
    command.action((account: string, usd: Picos, options: CreditOptions) =>
      run(command, (context) => creditAccount(context, account, creditKind, usd, options)),
    )
    return command
  }
  const why = 'why, for the audit log and the account'
  credit('top-up', 'top-up', 'add a payment to the balance', readAmount).option('--reason <TEXT>', why, readReason)
  credit('refund', 'refund', 'take what was paid back from the balance', readAmount).requiredOption('--reason <TEXT>', why, readReason)
  credit('correct', 'correction', 'add to the balance, or take from it with a negative amount', readCorrection).requiredOption(
    '--reason <TEXT>',
    why,
    readReason,
  )
}

async function createAccount(context: CommandContext, argument: string | undefined, options: CreateOptions): Promise<ExitCode | Stop> {
  if (argument !== undefined && options.name !== undefined) return wrongUse('give the name once: as NAME or with --name')
  const { balance = ZERO, ref } = options
  if (ref !== undefined && balance === ZERO) return wrongUse(REF_WITHOUT_BALANCE)
  const now = context.environment.now()
  const accountId = newId('acc', now)
  const topUp = firstTopUp(newId('crd', now), balance, ref ?? '')
  const name = argument ?? options.name ?? ''
  const done = await operate(context, { kind: 'createAccount', accountId, name, topUp, now }, { ...options, create: true })
  if (isStop(done)) return done
  return topUp === null ? showAccount(context, accountId) : sayCredited(context, accountId, topUp.creditId, balance, done.earlier)
}

async function creditAccount(
  context: CommandContext,
  name: string,
  creditKind: CreditKind,
  usd: Picos,
  { ref = '', ...why }: CreditOptions,
): Promise<ExitCode | Stop> {
  const account = accountNamed(context, name)
  if (isStop(account)) return account
  const now = context.environment.now()
  const operation = creditOf({ accountId: account.id, creditId: newId('crd', now), creditKind, usd, ref }, now)
  const done = await operate(context, operation, { ...why, create: false })
  return isStop(done) ? done : sayCredited(context, account.id, operation.creditId, operation.amountPicos, done.earlier)
}

/** Shows the account after the credit, with the credit's id; `already`: an earlier credit has the same reference, and nothing was done now. */
function sayCredited(
  context: CommandContext,
  accountId: string,
  creditId: string,
  amount: Picos,
  earlier: Earlier | undefined,
): ExitCode | Stop {
  const account = accountNamed(context, earlier?.accountId ?? accountId)
  if (isStop(account)) return account
  const credit = earlier?.creditId ?? creditId
  const already = earlier !== undefined
  context.say({ ...accountDocument(account), credit_id: credit, ...usdFields('amount', amount), already }, () => {
    const facts = factsText([...accountFacts(account), ['credit', `${credit} of ${usdText(amount)}`]])
    return already ? `${facts}\n\nalready: $${toUsdText(amount)} stand under this reference since earlier; nothing was done now.` : facts
  })
  return EXIT.ok
}

function listAccounts(context: CommandContext, { name, state, limit, cursor }: ListOptions): ExitCode | Stop {
  const isActive = state === undefined ? undefined : state === 'live'
  const page = readReport(context, ({ accounts }) => accounts.accounts({ name, isActive, after: cursor, limit }))
  const isPart = (name ?? state ?? cursor) !== undefined
  return isStop(page) ? page : sayPage(context, page, accountDocument, (rows) => accountTable(rows, isPart))
}

async function showAccount(context: CommandContext, name: string): Promise<ExitCode | Stop> {
  const found = accountNamed(context, name)
  if (isStop(found)) return found
  const account = await withHeldNow(context, 'accountId', found)
  context.say(accountDocument(account), () => factsText(accountFacts(account)))
  return EXIT.ok
}

/** Finds the account, performs the operation that `operationOn` makes, and shows the account as it is afterwards. */
async function changeAccount(
  context: CommandContext,
  name: string,
  why: Why,
  operationOn: (account: AccountReport, now: number) => Operation,
): Promise<ExitCode | Stop> {
  const account = accountNamed(context, name)
  if (isStop(account)) return account
  const done = await operate(context, operationOn(account, context.environment.now()), { ...why, create: false })
  return isStop(done) ? done : showAccount(context, account.id)
}

const accountDocument = (account: AccountReport) => ({
  id: account.id,
  name: account.name,
  ...usdFields('balance', account.balancePicos),
  ...usdFields('credited', account.creditedPicos),
  ...usdFields('spent', account.spentPicos),
  ...usdFields('held', account.heldPicos),
  keys: account.keyCount,
  is_active: account.isActive,
  tags_user_ids: account.tagsUserIds,
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
  ['tags', account.tagsUserIds ? 'by x-spend-tag and the ids of end users' : 'by x-spend-tag'],
  ['created', timeText(account.createdAt)],
]

/** `isPart`: a filter or a cursor leaves out some accounts. */
const accountTable = (accounts: readonly AccountReport[], isPart: boolean): string =>
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
    isPart ? 'No account was found.' : 'There are no accounts yet: `tollgate accounts create NAME` makes one.',
  )
