/**
 * `tollgate keys …`: makes, shows and changes keys. A secret is printed once, by create and rotate.
 * Rules: keys.md "Expiry and rotation"; operator.md "Keys and accounts".
 */

import { type Command, Option } from 'commander'
import { DEFAULT_PLAN } from '../core/catalog.ts'
import { KEY_STATES, type KeyState } from '../core/key.ts'
import { KEY_EXPIRY_DAYS_MAX } from '../core/limits.ts'
import { type Picos, ZERO } from '../core/money.ts'
import type { Operation } from '../ledger/operation.ts'
import { firstTopUp } from '../ledger/operations/account-writes.ts'
import { extension, newKey, OVERLAP_HOURS_MAX, PROMISED, rotation } from '../ledger/operations/key-writes.ts'
import { newId } from '../ledger/operations/new-id.ts'
import type { KeyReport } from '../ledger/reading/account-lists.ts'
import { type Limit, limitPicosOf, REF_WITHOUT_BALANCE, readBudget, readLimit, readName, readRef, wholeNumber } from './arguments.ts'
import { budgetOf, type PerOption, perOption, withWindows } from './budgets.ts'
import { type CommandContext, type Run, withJson } from './command-context.ts'
import { EXIT, type ExitCode, isStop, type Stop, wrongUse } from './environment.ts'
import { withHeldNow } from './held-now.ts'
import { keyDocument, keyFacts, keyTable } from './key-text.ts'
import { operate, type Why, withReason } from './operate.ts'
import { type PagingOptions, sayPage, withPaging } from './paging.ts'
import { accountNamed, keyNamed, readReport } from './read-report.ts'
import { factsText, timeText } from './text.ts'

const KEY = '<KEY>'
const KEY_TEXT = 'id or name of a key'
const days = wholeNumber(1, KEY_EXPIRY_DAYS_MAX)

type CreateOptions = Why & {
  name?: string
  balance?: Picos
  ref?: string
  account?: string
  limit?: Limit
  plan: string
  expiresInDays?: number
}

type RotateOptions = Why & { overlapHours: number; now?: boolean }

type ListOptions = PagingOptions & { account?: string; name?: string; state?: KeyState }

export function addKeys(program: Command, run: Run): Command {
  const keys = program.command('keys').description('make, show and change API keys')
  const create = withReason(withJson(keys.command('create')))
    .description('make a key; its secret is shown once')
    .option('--name <NAME>', 'a name that no other key of its account has', readName)
    .option('--balance <USD>', 'tops up its account', readBudget)
    .option('--ref <REF>', 'the reference of the payment, which is credited once', readRef)
    .option('--account <ACCOUNT>', 'id or name of an account to share; default: an account of its own')
    .option('--limit <USD>', 'spend limit of the key', readLimit)
    .option('--plan <PLAN>', 'a plan of the configuration', DEFAULT_PLAN)
    .option('--expires-in-days <N>', `1 to ${KEY_EXPIRY_DAYS_MAX}; default: never`, days)
  create.action((options: CreateOptions) => run(create, (context) => createKey(context, options)))

  addList(keys, run)
  const show = withJson(keys.command('show')).description('show one key').argument(KEY, KEY_TEXT)
  show.action((key: string) => run(show, (context) => showKey(context, key)))

  const rename = withReason(withJson(keys.command('rename')))
    .description('give a key another name')
    .argument(KEY, KEY_TEXT)
    .argument('<NAME>', 'a name that no other key of its account has', readName)
  rename.action((key: string, name: string, why: Why) =>
    run(rename, (context) => changeKey(context, key, why, ({ id }, now) => ({ kind: 'renameKey', keyId: id, name, now }))),
  )

  const limit = withReason(withJson(keys.command('limit')))
    .description('set or remove the spend limit, or a budget for each hour, day, week or month')
    .argument(KEY, KEY_TEXT)
    .argument('<USD|none>', 'the limit', readLimit)
    .addOption(perOption())
  limit.action((key: string, wanted: Limit, options: Why & PerOption) =>
    run(limit, (context) => changeKey(context, key, options, (found, now) => limitOf(found, wanted, options, now))),
  )

  const extend = withReason(withJson(keys.command('extend')))
    .description(`move the expiry, or give one to a key that has none: at most ${KEY_EXPIRY_DAYS_MAX} days ahead of now`)
    .argument(KEY, KEY_TEXT)
    .requiredOption('--days <N>', `1 to ${KEY_EXPIRY_DAYS_MAX} days more; from now where there was no expiry`, days)
  extend.action((key: string, options: Why & { days: number }) =>
    run(extend, (context) => changeKey(context, key, options, (found, now) => extendBy(found, options.days, now))),
  )

  for (const [name, isActive] of [
    ['disable', false],
    ['enable', true],
  ] as const) {
    const command = withReason(withJson(keys.command(name)))
      .description(`${name} a key`)
      .argument(KEY, KEY_TEXT)
    command.action((key: string, why: Why) =>
      run(command, (context) => changeKey(context, key, why, ({ id }, now) => ({ kind: 'setKeyActive', keyId: id, isActive, now }))),
    )
  }

  addRotate(keys, run)
  return keys
}

function addRotate(keys: Command, run: Run): void {
  const rotate = withReason(withJson(keys.command('rotate')))
    .description('give a key a new secret, shown once')
    .argument(KEY, KEY_TEXT)
    .option('--overlap-hours <N>', 'how long the old secret stays valid', wholeNumber(0, OVERLAP_HOURS_MAX), 0)
    .option('--now', 'although an earlier rotation promised an old secret more time')
  rotate.action((key: string, options: RotateOptions) => run(rotate, (context) => rotateKey(context, key, options)))
}

function addList(keys: Command, run: Run): void {
  const list = withPaging(keys.command('list'), /^key_\w+$/)
    .description('keys, newest first')
    .option('--account <ACCOUNT>', 'only of this account: its id or name')
    .option('--name <TEXT>', 'only those whose name begins so, in whatever case')
    .addOption(new Option('--state <STATE>', 'only those that are so now').choices(KEY_STATES))
  list.action((options: ListOptions) => run(list, (context) => listKeys(context, options)))
}

async function createKey(context: CommandContext, options: CreateOptions): Promise<ExitCode | Stop> {
  const plans = context.config.catalog.plans
  if (!plans.has(options.plan)) return wrongUse(`there is no plan "${options.plan}"; the configuration has ${[...plans.keys()].join(', ')}`)
  const balance = options.balance ?? ZERO
  if (options.ref !== undefined && balance === ZERO) return wrongUse(REF_WITHOUT_BALANCE)
  const account = options.account === undefined ? undefined : accountNamed(context, options.account)
  if (isStop(account)) return account
  const now = context.environment.now()
  const keyId = newId('key', now)
  const { operation, secret } = newKey(
    {
      keyId,
      name: options.name ?? '',
      accountId: account?.id ?? null,
      plan: options.plan,
      limitPicos: limitPicosOf(options.limit),
      expiresInDays: options.expiresInDays ?? null,
      topUp: firstTopUp(newId('crd', now), balance, options.ref ?? ''),
    },
    now,
  )
  const done = await operate(context, operation, { ...options, create: true })
  return isStop(done) ? done : saySecret(context, keyId, secret)
}

function listKeys(context: CommandContext, { account: accountName, name, state, limit, cursor }: ListOptions): ExitCode | Stop {
  const account = accountName === undefined ? undefined : accountNamed(context, accountName)
  if (isStop(account)) return account
  const now = context.environment.now()
  const query = { accountId: account?.id, name, state, now, after: cursor, limit }
  const isPart = (accountName ?? name ?? state ?? cursor) !== undefined
  const page = readReport(context, ({ accounts }) => accounts.keys(query))
  if (isStop(page)) return page
  return sayPage(
    context,
    { ...page, rows: page.rows.map((key) => withWindows(context, key)) },
    (key) => keyDocument(key, now),
    (keys) => keyTable(keys, now, isPart),
  )
}

async function showKey(context: CommandContext, name: string): Promise<ExitCode | Stop> {
  const found = keyNamed(context, name)
  if (isStop(found)) return found
  const key = await withHeldNow(context, 'keyId', found)
  const now = context.environment.now()
  context.say(keyDocument(key, now), () => factsText(keyFacts(key, now)))
  return EXIT.ok
}

/** Finds the key, performs the operation that `operationOn` makes, and shows the key as it is afterwards. */
export async function changeKey(
  context: CommandContext,
  name: string,
  why: Why,
  operationOn: (key: KeyReport, now: number) => Operation | Stop,
): Promise<ExitCode | Stop> {
  const key = keyNamed(context, name)
  if (isStop(key)) return key
  const operation = operationOn(key, context.environment.now())
  if (isStop(operation)) return operation
  const done = await operate(context, operation, { ...why, create: false })
  return isStop(done) ? done : showKey(context, key.id)
}

const limitOf = ({ id, accountId }: KeyReport, wanted: Limit, { per }: PerOption, now: number): Operation =>
  per === undefined ? { kind: 'setKeyLimit', keyId: id, limitPicos: limitPicosOf(wanted), now } : budgetOf(accountId, id, per, wanted, now)

function extendBy(key: KeyReport, days: number, now: number): Operation | Stop {
  const extended = extension(key, days, now)
  if (!('daysLeft' in extended)) return extended
  return wrongUse(`a key may expire at most ${KEY_EXPIRY_DAYS_MAX} days ahead: this one can have ${extended.daysLeft} days more`)
}

async function rotateKey(
  context: CommandContext,
  name: string,
  { overlapHours, now: endsPromised, ...why }: RotateOptions,
): Promise<ExitCode | Stop> {
  const key = keyNamed(context, name)
  if (isStop(key)) return key
  const { operation, secret } = rotation(key.id, { overlapHours, endsPromised }, context.environment.now())
  const done = await operate(context, operation, { ...why, create: false })
  if (isStop(done) && done.stop.startsWith(PROMISED)) return { ...done, stop: `${done.stop}: add --now to end it all the same` }
  return isStop(done) ? done : saySecret(context, key.id, secret, operation.oldValidUntil)
}

/** Prints the secret even where the key cannot be shown, since the key is in the ledger by now. */
function saySecret(context: CommandContext, keyId: string, secret: string, oldValidUntil?: number): ExitCode | Stop {
  const key = keyNamed(context, keyId)
  if (isStop(key)) {
    context.say({ id: keyId, key: secret }, () =>
      factsText([
        ['id', keyId],
        ['key', secret],
      ]),
    )
    return key
  }
  const old = oldValidUntil === undefined ? {} : { old_key_valid_until: new Date(oldValidUntil).toISOString() }
  const now = context.environment.now()
  const { id, ...rest } = keyDocument(key, now)
  const overlap = oldValidUntil === undefined ? [] : [['old key valid until', timeText(oldValidUntil)] as const]
  const facts = [['key', secret] as const, ...keyFacts(key, now), ...overlap]
  context.say({ id, key: secret, ...rest, ...old }, () => `${factsText(facts)}\n\nThe key is shown this once; only its hash is kept.`)
  return EXIT.ok
}
