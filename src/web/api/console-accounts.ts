/** Accounts for operators: looked up, made, changed; the same operations as the command line's. Rules: operator.md "Keys and accounts"; pages.md "Acts of operators". */

import { Elysia, type Static, t } from 'elysia'
import { parseUsd, ZERO } from '../../core/money.ts'
import type { Operation } from '../../ledger/operation.ts'
import { firstTopUp } from '../../ledger/operations/account-writes.ts'
import { heldIn, runningByKey } from '../../operator/held.ts'
import type { Site } from '../site.ts'
import { missing, refuse } from './answers.ts'
import { type Caller, callerMacro } from './caller.ts'
import { change } from './change.ts'
import { ACT_ID, amountOf, type ConsoleActs, NO_STORE, REASON, REF, refOf, USD } from './console-acts.ts'
import { accountDocument, holdDocument, listedAccount } from './console-documents.ts'
import { keyDocument } from './key-document.ts'
import { ACCOUNTS_QUERY, type AccountsQuery, KEYS_QUERY, type KeysQuery, orderDocument, orderOf } from './list-order.ts'
import { NAME, wrongName } from './name-field.ts'

const PAGE = 50
const HOLDS_SHOWN = 50
const WHY = t.Object({ reason: REASON })

const CREATE = t.Object({ id: ACT_ID, name: NAME, balance_usd: t.Optional(USD), ref: REF, reason: REASON })

/** The routes that look up accounts. */
function accountLooks({ world, people, moment, holdsOf }: Site, { ask }: ConsoleActs) {
  const { ledger, clock } = world

  const list = async (query: AccountsQuery, caller: Caller) => {
    if (query.order !== undefined) return ordered(query, caller)
    const { search, after } = query
    const page = await ask<'accounts'>(caller, {
      kind: 'accounts',
      limit: PAGE,
      ...(search === undefined ? {} : { search }),
      ...(after === undefined ? {} : { after }),
    })
    if (page === undefined) return missing()
    return page instanceof Response ? page : { data: page.rows.map(listedAccount), next_cursor: page.next, ordered: null }
  }
  const ordered = async ({ order, ...query }: AccountsQuery, caller: Caller) => {
    const page = await ask<'orderedAccounts'>(caller, { kind: 'orderedAccounts', limit: PAGE, ...orderOf(order, query) })
    if (page === undefined) return missing()
    return page instanceof Response ? page : { data: page.rows.map(listedAccount), next_cursor: page.next, ordered: orderDocument(page) }
  }
  const keysOf = async (accountId: string, { order, hide, ...query }: KeysQuery, caller: Caller) => {
    const onlyActive = hide !== undefined
    const page = await ask<'orderedKeys'>(caller, { kind: 'orderedKeys', accountId, limit: PAGE, onlyActive, ...orderOf(order, query) })
    if (page === undefined) return missing()
    if (page instanceof Response) return page
    const running = runningByKey(moment().held)
    return {
      data: page.rows.map((key) => keyDocument(key, ledger, running.get(key.id) ?? 0, clock.now())),
      next_cursor: page.next,
      ordered: orderDocument(page),
    }
  }
  const found = async (accountId: string, caller: Caller) => (await ask<'account'>(caller, { kind: 'account', accountId })) ?? missing()
  const document = async (accountId: string, caller: Caller) => {
    const account = await found(accountId, caller)
    if (account instanceof Response) return account
    const held = heldIn(moment().held, accountId)
    const shown = held.count === 0 ? [] : await holdsOf(accountId, HOLDS_SHOWN)
    const names = await ask<'names'>(caller, { kind: 'names', accountIds: [], keyIds: [...new Set(shown.map(({ keyId }) => keyId))] })
    return {
      ...accountDocument(account, held),
      /** Of new keys that its customers make; null: the default. */
      plan: account.plan,
      holds: shown.map((hold) => ({ ...holdDocument(hold), key_name: names instanceof Response ? '' : (names[hold.keyId] ?? '') })),
      members: (await people().memberships.membersOf(accountId)).map(({ email, name, role }) => ({ email, name, role })),
      invitations: (await people().links.invitations(accountId)).map(({ email, membership }) => ({
        email,
        role: membership?.role ?? 'owner',
      })),
    }
  }
  return { list, keysOf, found, document }
}

/** The routes that make and change accounts. */
function accountActs({ clock }: Site['world'], { perform, oldForm }: ConsoleActs, { found, document }: ReturnType<typeof accountLooks>) {
  const changed = (accountId: string, caller: Caller, reason: string | undefined, operation: Operation) =>
    change(
      {
        found: found(accountId, caller),
        perform: (one) => perform(one, caller, reason),
        document: () => document(accountId, caller),
      },
      () => [operation],
    )
  const rename = (accountId: string, caller: Caller, reason: string | undefined, name: string) =>
    wrongName(name) ?? changed(accountId, caller, reason, { kind: 'renameAccount', accountId, name, now: clock.now() })
  const setActive = (accountId: string, caller: Caller, reason: string | undefined, isActive: boolean) =>
    changed(accountId, caller, reason, { kind: 'setAccountActive', accountId, isActive, now: clock.now() })
  const create = async (caller: Caller, { id, name: typed, balance_usd = '', ref: typedRef, reason }: Static<typeof CREATE>) => {
    const name = typed.trim()
    // An account may begin with nothing, and an empty field says so too.
    const balance = parseUsd(balance_usd.trim() || '0') === ZERO ? ZERO : amountOf(balance_usd, 'balance_usd')
    const ref = refOf(typedRef)
    const wrong = wrongName(name)
    if (wrong !== undefined) return wrong
    if (balance instanceof Response) return balance
    if (ref instanceof Response) return ref
    if (ref !== '' && balance === ZERO)
      return refuse(400, 'A reference is that of a payment: say how much it was', { field: 'balance_usd' })
    const old = oldForm(id)
    if (old !== undefined) return old
    const accountId = `acc_${id}`
    const topUp = firstTopUp(`crd_${id}`, balance, ref)
    const done = await perform({ kind: 'createAccount', accountId, name, topUp, now: clock.now() }, caller, reason)
    return done instanceof Response ? done : { id: done.earlier?.accountId ?? accountId, already: done.earlier !== undefined }
  }
  return { create, rename, setActive }
}

export function consoleAccounts(site: Site, acts: ConsoleActs) {
  const looks = accountLooks(site, acts)
  const { list, keysOf, document } = looks
  const { create, rename, setActive } = accountActs(site.world, acts, looks)
  return new Elysia({ name: 'console accounts', prefix: '/console/api/accounts' })
    .use(callerMacro(site.people, 'console'))
    .onBeforeHandle(({ set }) => {
      Object.assign(set.headers, NO_STORE)
    })
    .get('', ({ caller, query }) => list(query, caller), {
      person: true,
      query: ACCOUNTS_QUERY,
    })
    .post('', ({ caller, body }) => create(caller, body), { person: true, body: CREATE })
    .get('/:accountId', ({ caller, params }) => document(params.accountId, caller), { person: true })
    .patch('/:accountId', ({ caller, params, body: { name, reason } }) => rename(params.accountId, caller, reason, name.trim()), {
      person: true,
      body: t.Object({ name: NAME, reason: REASON }),
    })
    .post('/:accountId/disable', ({ caller, params, body }) => setActive(params.accountId, caller, body.reason, false), {
      person: true,
      body: WHY,
    })
    .post('/:accountId/enable', ({ caller, params, body }) => setActive(params.accountId, caller, body.reason, true), {
      person: true,
      body: WHY,
    })
    .get('/:accountId/keys', ({ caller, params, query }) => keysOf(params.accountId, query, caller), {
      person: true,
      query: KEYS_QUERY,
    })
}
