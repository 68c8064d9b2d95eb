/** Accounts over the operator's API: looked up, made, renamed, switched off and on. Rules: operator-api.md "Scopes", "Writes"; operator.md "Keys and accounts". */

import { Elysia, type Static, t } from 'elysia'
import { ZERO } from '../../core/money.ts'
import { problemOfName } from '../../core/names.ts'
import type { Operation } from '../../ledger/operation.ts'
import { firstTopUp } from '../../ledger/operations/account-writes.ts'
import { newId } from '../../ledger/operations/new-id.ts'
import type { AccountAtRest } from '../../ledger/reading/account-reports.ts'
import { heldIn } from '../../operator/held.ts'
import { ACCOUNT, ACCOUNT_LIST, accountOf, listedAccountOf } from './account-documents.ts'
import { type ApiCaller, maySee, NEEDS_ALL, seesAccount } from './caller.ts'
import { answer, ERRORS, Failure, forbidden, missing, wrong } from './failure.ts'
import type { Parts } from './parts.ts'
import { listDocument, noCursor, PAGING, pagingOf, REASON, REF, refOf, sent, USD, usdOf, WHY } from './shapes.ts'

const NAME = t.String({ maxLength: 500, description: 'A name of 1 to 128 characters' })
const CREATE = sent(
  { name: t.Optional(NAME), balance_usd: t.Optional(USD), ref: REF, reason: REASON },
  { title: 'NewAccount', description: '`balance_usd` tops it up in the same act, for which the scope `all` is needed' },
)
const RENAME = sent({ name: NAME, reason: REASON }, { title: 'NewName' })
const TAGS = sent({ tags_user_ids: t.Boolean(), reason: REASON }, { title: 'AccountTags' })
const LIST = sent({ ...PAGING, search: t.Optional(t.String({ maxLength: 200, description: 'The beginning of a name or id' })) })

/** What looks accounts up, and changes one. */
export function accountActs({ world, site: { moment }, acts: { ask, askAfterWrite, perform } }: Parts) {
  const { clock } = world
  const shown = (found: AccountAtRest | undefined) => (found === undefined ? missing() : accountOf(found, heldIn(moment().held, found.id)))
  const look = async (caller: ApiCaller, accountId: string) => {
    if (!seesAccount(caller, accountId)) return missing()
    const found = await ask<'account'>(caller, { kind: 'account', accountId })
    return found instanceof Failure ? found : shown(found)
  }
  const after = async (caller: ApiCaller, accountId: string) => {
    const found = await askAfterWrite<'account'>(caller, { kind: 'account', accountId })
    return found instanceof Failure ? found : shown(found)
  }
  const list = async (caller: ApiCaller, query: Static<typeof LIST>) => {
    const { search } = query
    const { accountIds } = caller.token
    if (accountIds.length > 0) return bound(caller, search)
    const page = await ask<'accounts'>(caller, { kind: 'accounts', ...pagingOf(query), ...(search === undefined ? {} : { search }) })
    if (page instanceof Failure) return page
    return page === undefined ? noCursor() : listDocument(page, listedAccountOf)
  }
  /** The few accounts to which the token is bound, on one page. */
  const bound = async (caller: ApiCaller, search = '') => {
    const found: AccountAtRest[] = []
    for (const accountId of caller.token.accountIds) {
      const account = await ask<'account'>(caller, { kind: 'account', accountId })
      if (account instanceof Failure) return account
      if (account !== undefined && (account.id.startsWith(search) || account.name.toLowerCase().startsWith(search.toLowerCase())))
        found.push(account)
    }
    return listDocument({ rows: found, next: null }, listedAccountOf)
  }
  const create = async (caller: ApiCaller, { name = '', balance_usd, ref: typed, reason }: Static<typeof CREATE>) => {
    const balance = balance_usd === undefined ? ZERO : usdOf('balance_usd', balance_usd)
    if (balance instanceof Failure) return balance
    if (balance < ZERO) return wrong('balance_usd', '0 USD or more')
    const ref = refOf(typed)
    if (ref instanceof Failure) return ref
    if (ref !== '' && balance === ZERO) return wrong('balance_usd', 'A reference is that of a payment: say how much it was')
    if (balance > ZERO && !maySee(caller.token.scope, 'all')) return forbidden(NEEDS_ALL)
    const problem = name === '' ? undefined : problemOfName(name)
    if (problem !== undefined) return wrong('name', problem)
    const now = clock.now()
    const accountId = newId('acc', now)
    const topUp = firstTopUp(newId('crd', now), balance, ref)
    const done = await perform(caller, { kind: 'createAccount', accountId, name, topUp, now }, reason)
    return done instanceof Failure ? done : after(caller, done.repeats?.target ?? done.earlier?.accountId ?? accountId)
  }
  /** `refusedAs`: as of `perform`. */
  const change = async (caller: ApiCaller, accountId: string, reason: string | undefined, operation: Operation, refusedAs?: Failure) => {
    if (!seesAccount(caller, accountId)) return missing()
    const found = await ask<'account'>(caller, { kind: 'account', accountId })
    if (found === undefined) return missing()
    const done = found instanceof Failure ? found : await perform(caller, operation, reason, refusedAs)
    return done instanceof Failure ? done : after(caller, accountId)
  }
  return { look, list, create, change }
}

const CHANGES = { scope: 'keys', reach: 'account' } as const
const detail = (operationId: string, summary: string, description: string) => ({ operationId, tags: ['Accounts'], summary, description })

export function accountRoutes(parts: Parts) {
  const { look, list, create } = accountActs(parts)
  return new Elysia({ name: 'operator api accounts', prefix: '/accounts' })
    .use(parts.macro)
    .get('', async ({ caller, query }) => answer(await list(caller, query)), {
      token: { scope: 'read', reach: 'account' },
      query: LIST,
      response: { 200: ACCOUNT_LIST, ...ERRORS },
      detail: detail(
        'listAccounts',
        'List accounts',
        'Newest first; with `search` in the order of names. A bound token gets its accounts on one page.',
      ),
    })
    .post('', async ({ caller, body }) => answer(await create(caller, body)), {
      token: { scope: 'keys', reach: 'gateway' },
      body: CREATE,
      response: { 200: ACCOUNT, ...ERRORS },
      detail: detail('createAccount', 'Make an account', 'With `balance_usd` it is topped up in the same act.'),
    })
    .get('/:account_id', async ({ caller, params }) => answer(await look(caller, params.account_id)), {
      token: { scope: 'read', reach: 'account' },
      response: { 200: ACCOUNT, ...ERRORS },
      detail: detail('getAccount', 'Show an account', 'Its balance, and what requests hold of it now.'),
    })
    .use(accountChanges(parts))
}

/** Each changes one thing of an account, and shows the account as it is afterwards. */
function accountChanges(parts: Parts) {
  const { world } = parts
  const { change } = accountActs(parts)
  const setActive = (accountId: string, isActive: boolean): Operation => ({
    kind: 'setAccountActive',
    accountId,
    isActive,
    now: world.clock.now(),
  })
  return new Elysia({ name: 'operator api changes of accounts' })
    .use(parts.macro)
    .post(
      '/:account_id/rename',
      async ({ caller, params: { account_id: accountId }, body: { name, reason } }) => {
        const problem = problemOfName(name)
        if (problem !== undefined) return answer(wrong('name', problem))
        return answer(await change(caller, accountId, reason, { kind: 'renameAccount', accountId, name, now: world.clock.now() }))
      },
      {
        token: CHANGES,
        body: RENAME,
        response: { 200: ACCOUNT, ...ERRORS },
        detail: detail('renameAccount', 'Rename an account', 'No two accounts have the same name.'),
      },
    )
    .post(
      '/:account_id/tags',
      async ({ caller, params: { account_id: accountId }, body: { tags_user_ids: tagsUserIds, reason } }) =>
        answer(await change(caller, accountId, reason, { kind: 'setAccountTags', accountId, tagsUserIds, now: world.clock.now() })),
      {
        token: CHANGES,
        body: TAGS,
        response: { 200: ACCOUNT, ...ERRORS },
        detail: detail(
          'setAccountTags',
          'Tag by end users',
          'Whether requests without a tag are tagged by the id of the end user that they name.',
        ),
      },
    )
    .post(
      '/:account_id/disable',
      async ({ caller, params, body: { reason } }) =>
        answer(await change(caller, params.account_id, reason, setActive(params.account_id, false))),
      {
        token: CHANGES,
        body: WHY,
        response: { 200: ACCOUNT, ...ERRORS },
        detail: detail('disableAccount', 'Disable an account', 'Its keys are refused from now on, and running answers are cut.'),
      },
    )
    .post(
      '/:account_id/enable',
      async ({ caller, params, body: { reason } }) =>
        answer(await change(caller, params.account_id, reason, setActive(params.account_id, true))),
      {
        token: CHANGES,
        body: WHY,
        response: { 200: ACCOUNT, ...ERRORS },
        detail: detail('enableAccount', 'Enable an account', 'Its keys may be used again.'),
      },
    )
}
