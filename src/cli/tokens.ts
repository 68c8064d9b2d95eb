/** `tollgate tokens …`: makes, lists and revokes tokens of the operator's API. A secret is printed once. Rules: operator-api.md "Tokens"; operator.md "Commands". */

import { type Command, Option } from 'commander'
import { TOKEN_DAYS_DEFAULT, TOKEN_DAYS_MAX, TOKEN_SCOPES, type TokenScope, tokenStateOf } from '../core/api-token.ts'
import { isoOrNull } from '../core/utc.ts'
import { newId } from '../ledger/operations/new-id.ts'
import { newToken } from '../ledger/operations/token-writes.ts'
import type { TokenRow } from '../ledger/reading/token-lists.ts'
import { readName, wholeNumber } from './arguments.ts'
import { type CommandContext, type Run, withJson } from './command-context.ts'
import { EXIT, type ExitCode, isStop, type Stop, wrongUse } from './environment.ts'
import { operate, type Why, withReason } from './operate.ts'
import { type PagingOptions, sayPage, withPaging } from './paging.ts'
import { accountNamed, readReport } from './read-report.ts'
import { factsText, tableText, timeText } from './text.ts'

type CreateOptions = Why & { scope: TokenScope; account?: readonly string[]; expiresInDays: number }

export function addTokens(program: Command, run: Run): void {
  const tokens = program.command('tokens').description("make, list and revoke tokens of the operator's API")
  const create = withReason(withJson(tokens.command('create')))
    .description('make a token; its secret is shown once')
    .argument('<NAME>', 'a name that no token has or had: the audit log names it by that', readName)
    .addOption(
      new Option('--scope <SCOPE>', 'read: looks; keys: also accounts and keys; money: looks, and credits; all: everything')
        .choices(TOKEN_SCOPES)
        .makeOptionMandatory(),
    )
    .option('--account <ACCOUNT...>', 'ids or names of the only accounts that it sees; default: all')
    .option('--expires-in-days <N>', `1 to ${TOKEN_DAYS_MAX}`, wholeNumber(1, TOKEN_DAYS_MAX), TOKEN_DAYS_DEFAULT)
  create.action((name: string, options: CreateOptions) => run(create, (context) => createToken(context, name, options)))

  const list = withPaging(tokens.command('list'), /^\d{1,15}$/).description(
    'tokens, newest first: what each may do, until when, when it was last used',
  )
  list.action((options: PagingOptions) => run(list, (context) => listTokens(context, options)))

  const revoke = withReason(withJson(tokens.command('revoke')))
    .description('end a token at once')
    .argument('<TOKEN>', 'its id or name')
  revoke.action((token: string, why: Why) => run(revoke, (context) => revokeToken(context, token, why)))
}

async function createToken(
  context: CommandContext,
  name: string,
  { scope, account: named = [], expiresInDays, ...why }: CreateOptions,
): Promise<ExitCode | Stop> {
  const accountIds: string[] = []
  for (const one of named) {
    const account = accountNamed(context, one)
    if (isStop(account)) return account
    accountIds.push(account.id)
  }
  const now = context.environment.now()
  const { operation, secret } = newToken({ tokenId: newId('tok', now), name, scope, accountIds, expiresInDays }, now)
  const done = await operate(context, operation, { ...why, create: true })
  if (isStop(done)) return done
  const { tokenId: id, expiresAt } = operation
  const document = { id, token: secret, name, scope, account_ids: operation.accountIds, expires_at: isoOrNull(expiresAt) }
  const facts = [
    ['token', secret],
    ['id', id],
    ['name', name],
    ['scope', scope],
    ['accounts', accountsText(operation.accountIds)],
    ['expires', timeText(expiresAt)],
  ] as const
  context.say(document, () => `${factsText(facts)}\n\nThe token is shown this once; only its hash is kept.`)
  return EXIT.ok
}

function listTokens(context: CommandContext, { limit, cursor }: PagingOptions): ExitCode | Stop {
  const page = readReport(context, ({ tokens }) => tokens.tokens({ after: cursor, limit }))
  if (isStop(page)) return page
  const now = context.environment.now()
  return sayPage(
    context,
    page,
    (token) => tokenDocument(token, now),
    (tokens) => tokenTable(tokens, now),
  )
}

async function revokeToken(context: CommandContext, name: string, why: Why): Promise<ExitCode | Stop> {
  const token = tokenNamed(context, name)
  if (isStop(token)) return token
  const now = context.environment.now()
  const done = await operate(context, { kind: 'revokeToken', tokenId: token.id, now }, { ...why, create: false })
  if (isStop(done)) return done
  const after = tokenNamed(context, token.id)
  if (isStop(after)) return after
  context.say(tokenDocument(after, now), () => tokenTable([after], now))
  return EXIT.ok
}

function tokenNamed(context: CommandContext, name: string): TokenRow | Stop {
  const token = readReport(context, ({ tokens }) => tokens.token(name) ?? 'none')
  return token === 'none' ? wrongUse(`there is no token "${name}"`) : token
}

const accountsText = (accountIds: readonly string[]): string => (accountIds.length === 0 ? 'all' : accountIds.join(', '))

const tokenDocument = (token: TokenRow, now: number) => ({
  id: token.id,
  name: token.name,
  display: token.display,
  scope: token.scope,
  account_ids: token.accountIds,
  state: tokenStateOf(token, now),
  created_at: isoOrNull(token.createdAt),
  expires_at: isoOrNull(token.expiresAt),
  revoked_at: isoOrNull(token.revokedAt),
  last_used_at: isoOrNull(token.lastUsedAt),
})

const tokenTable = (tokens: readonly TokenRow[], now: number): string =>
  tableText(
    ['ID', 'NAME', 'TOKEN', 'SCOPE', 'ACCOUNTS', 'STATE', 'EXPIRES', 'LAST USED'],
    tokens.map((token) => [
      token.id,
      token.name,
      token.display,
      token.scope,
      accountsText(token.accountIds),
      tokenStateOf(token, now),
      timeText(token.expiresAt),
      timeText(token.lastUsedAt),
    ]),
    'There are no tokens yet: `tollgate tokens create NAME --scope read` makes one.',
  )
