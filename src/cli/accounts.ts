/** `tollgate accounts …`: the balances that keys spend from. Rules: operator.md "Keys and accounts", "Credits". */

import { Argument, type Command, Option } from 'commander'
import { type Picos, toUsdText, usdFields, ZERO } from '../core/money.ts'
import type { CreditKind, Earlier, Operation } from '../ledger/operation.ts'
import { creditOf, firstTopUp } from '../ledger/operations/account-writes.ts'
import { newId } from '../ledger/operations/new-id.ts'
import type { AccountReport } from '../ledger/reading/account-lists.ts'
import { accountDocument, accountFacts, accountTable } from './account-text.ts'
import { windowDocument, windowFacts, windowsOfAccount } from './account-windows.ts'
import {
  type Limit,
  REF_WITHOUT_BALANCE,
  readAmount,
  readBudget,
  readCorrection,
  readLimit,
  readName,
  readReason,
  readRef,
} from './arguments.ts'
import { budgetOf, type PerOption, perOption } from './budgets.ts'
import { type CommandContext, type Run, withJson } from './command-context.ts'
import { EXIT, type ExitCode, isStop, type Stop, wrongUse } from './environment.ts'
import { withHeldNow } from './held-now.ts'
import { operate, type Why, withReason } from './operate.ts'
import { type PagingOptions, sayPage, withPaging } from './paging.ts'
import { accountNamed, readReport } from './read-report.ts'
import { factsText, usdText } from './text.ts'

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
    .option('--name <TEXT>', 'only those whose name begins so, in whatever case')
    .addOption(new Option('--state <STATE>', 'only those that are so').choices(['live', 'disabled']))
  list.action((options: ListOptions) => run(list, (context) => listAccounts(context, options)))

  const show = withJson(accounts.command('show')).description('show one account').argument(ACCOUNT, ACCOUNT_TEXT)
  show.action((account: string) => run(show, (context) => showAccount(context, account)))

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

  addBudgets(accounts, run)
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

function addBudgets(accounts: Command, run: Run): void {
  const limit = withReason(withJson(accounts.command('limit')))
    .description('set or remove a budget of all keys of an account together for each hour, day, week or month')
    .argument(ACCOUNT, ACCOUNT_TEXT)
    .argument('<USD|none>', 'the budget', readLimit)
    .addOption(perOption().makeOptionMandatory())
  limit.action((account: string, wanted: Limit, options: Why & Required<PerOption>) =>
    run(limit, (context) => changeAccount(context, account, options, ({ id }, now) => budgetOf(id, null, options.per, wanted, now))),
  )
  const plan = withReason(withJson(accounts.command('plan')))
    .description('set the plan that new keys of its customers get')
    .argument(ACCOUNT, ACCOUNT_TEXT)
    .argument('<PLAN|none>', 'a plan of the configuration; none: the default')
  plan.action((account: string, wanted: string, why: Why) => run(plan, (context) => setPlan(context, account, wanted, why)))
}

function setPlan(context: CommandContext, account: string, wanted: string, why: Why): Promise<ExitCode | Stop> | Stop {
  const { plans } = context.config.catalog
  if (wanted !== 'none' && !plans.has(wanted))
    return wrongUse(`there is no plan "${wanted}"; the configuration has ${[...plans.keys()].join(', ')}`)
  const plan = wanted === 'none' ? null : wanted
  return changeAccount(context, account, why, ({ id }, now) => ({ kind: 'setAccountPlan', accountId: id, plan, now }))
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
  const windows = windowsOfAccount(context, account.id)
  if (isStop(windows)) return windows
  context.say({ ...accountDocument(account), budgets: windows.map(windowDocument) }, () =>
    factsText([...accountFacts(account), ...windowFacts(windows)]),
  )
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
