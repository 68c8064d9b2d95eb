/** What the routes of keys do: they find a key that the token sees, perform the operation, and show the key as it is afterwards. Rules: operator-api.md "Scopes", "Writes". */

import type { Static } from 'elysia'
import { DEFAULT_PLAN } from '../../core/catalog.ts'
import { ZERO } from '../../core/money.ts'
import { problemOfName } from '../../core/names.ts'
import type { Operation, OperationOf } from '../../ledger/operation.ts'
import { firstTopUp } from '../../ledger/operations/account-writes.ts'
import { newKey, rotation, type WantedKey } from '../../ledger/operations/key-writes.ts'
import { newId } from '../../ledger/operations/new-id.ts'
import type { ListedKey } from '../../ledger/reading/account-reports.ts'
import { runningByKey } from '../../operator/held.ts'
import { type KEY, type KEY_WITH_SECRET, keyOf } from './account-documents.ts'
import { type ApiCaller, maySee, NEEDS_ALL, seesAccount } from './caller.ts'
import { Failure, forbidden, missing, wrong } from './failure.ts'
import { type KeysQuery, limitOf, type NewKeyBody, type RotationBody } from './key-bodies.ts'
import type { Parts } from './parts.ts'
import { onlyAccount, seenKey } from './reach.ts'
import { listDocument, noCursor, pagingOf, refOf, usdOf } from './shapes.ts'

type Shown = Static<typeof KEY>
type WithSecret = Static<typeof KEY_WITH_SECRET>

/** The operation of a change, or what is wrong with it; `refusedAs`: as of `perform`. */
export type MadeOfKey = Operation | Failure | Readonly<{ operation: Operation; refusedAs: Failure }>

/** What looks keys up. */
function keyLooks({ world, site: { moment }, acts: { ask, askAfterWrite } }: Parts) {
  const { ledger, clock } = world
  const runningOf = () => runningByKey(moment().held)
  const shown = (key: ListedKey, running = runningOf()): Shown => keyOf(key, ledger, running.get(key.id) ?? 0, clock.now())

  const list = async (caller: ApiCaller, query: KeysQuery) => {
    const { search } = query
    const of = onlyAccount(caller, query.account_id)
    if (of instanceof Failure) return of
    const { accountId } = of
    if (accountId !== undefined && search !== undefined) return wrong('search', 'The keys of one account are not searched; leave it out')
    const page =
      accountId === undefined
        ? await ask<'keys'>(caller, { kind: 'keys', ...pagingOf(query), ...(search === undefined ? {} : { search }) })
        : await ask<'accountKeys'>(caller, { kind: 'accountKeys', accountId, ...pagingOf(query) })
    if (page instanceof Failure) return page
    if (page === undefined) return query.cursor === undefined ? missing() : noCursor()
    const running = runningOf()
    return listDocument(page, (key) => shown(key, running))
  }

  const found = (caller: ApiCaller, keyId: string, asking: typeof ask = ask) => seenKey(asking, caller, keyId)

  const look = async (caller: ApiCaller, keyId: string): Promise<Shown | Failure> => {
    const key = await found(caller, keyId)
    return key instanceof Failure ? key : shown(key)
  }
  const after = async (caller: ApiCaller, keyId: string): Promise<Shown | Failure> => {
    const key = await found(caller, keyId, askAfterWrite)
    return key instanceof Failure ? key : shown(key)
  }

  return { shown, list, found, look, after }
}

export const NO_PLAN = wrong('plan', 'There is no such plan')

export function keyActs(parts: Parts) {
  const { world, acts } = parts
  const { askAfterWrite, perform } = acts
  const { clock } = world
  const { shown, list, found, look, after } = keyLooks(parts)

  const change = async (
    caller: ApiCaller,
    keyId: string,
    reason: string | undefined,
    operationOn: (key: ListedKey) => MadeOfKey,
  ): Promise<Shown | Failure> => {
    const key = await found(caller, keyId)
    const made = key instanceof Failure ? key : operationOn(key)
    if (made instanceof Failure) return made
    const done = 'operation' in made ? await perform(caller, made.operation, reason, made.refusedAs) : await perform(caller, made, reason)
    return done instanceof Failure ? done : after(caller, keyId)
  }

  /** The key with its new secret, which no later answer has; a repetition gets the key alone. `made`: the key as it was made, where it cannot be read now. */
  const withSecret = async (caller: ApiCaller, made: ListedKey, secret: string): Promise<WithSecret> => {
    const key = await found(caller, made.id, askAfterWrite)
    return { ...shown(key instanceof Failure ? made : key), secret, secret_shown: false }
  }
  const withoutSecret = async (caller: ApiCaller, keyId: string): Promise<WithSecret | Failure> => {
    const key = await after(caller, keyId)
    return key instanceof Failure ? key : { ...key, secret: null, secret_shown: true }
  }

  const create = async (caller: ApiCaller, body: NewKeyBody): Promise<WithSecret | Failure> => {
    const wanted = wantedOf(caller, body, clock.now())
    if (wanted instanceof Failure) return wanted
    const { operation, secret } = newKey(wanted, clock.now())
    const refusedAs = world.catalog().plans.has(wanted.plan) ? undefined : NO_PLAN
    const done = await perform(caller, operation, body.reason, refusedAs)
    if (done instanceof Failure) return done
    return done.repeats === undefined ? withSecret(caller, madeBy(operation), secret) : withoutSecret(caller, done.repeats.target)
  }

  const rotate = async (caller: ApiCaller, keyId: string, { overlap_hours = 0, ends_promised, reason }: RotationBody) => {
    const key = await found(caller, keyId)
    if (key instanceof Failure) return key
    const { operation, secret } = rotation(keyId, { overlapHours: overlap_hours, endsPromised: ends_promised }, clock.now())
    const done = await perform(caller, operation, reason)
    if (done instanceof Failure) return done
    return done.repeats === undefined
      ? withSecret(caller, { ...key, display: operation.display }, secret)
      : withoutSecret(caller, done.repeats.target)
  }

  return { list, look, change, create, rotate }
}

const madeBy = ({ keyId, accountId, ownAccountId, now, ...operation }: OperationOf<'createKey'>): ListedKey => ({
  id: keyId,
  accountId: accountId ?? ownAccountId,
  accountName: '',
  name: operation.name,
  display: operation.display,
  plan: operation.plan,
  limitPicos: operation.limitPicos,
  rates: null,
  expiresAt: operation.expiresAt,
  isActive: true,
  isAccountActive: true,
  spentPicos: ZERO,
  createdAt: now,
  lastUsedAt: null,
  lastSyncedAt: now,
  previous: null,
})

/** The key that a body asks for, or what is wrong with the body. */
function wantedOf(caller: ApiCaller, body: NewKeyBody, now: number): WantedKey | Failure {
  const { account_id: accountId, name = '', plan = DEFAULT_PLAN, limit_usd, expires_in_days = null, balance_usd } = body
  if (accountId === undefined && caller.token.accountIds.length > 0) return forbidden('This token is bound to accounts: name one of them')
  if (accountId !== undefined && !seesAccount(caller, accountId)) return wrong('account_id', 'There is no such account')
  const [limitPicos, ref] = [limitOf(limit_usd), refOf(body.ref)]
  if (limitPicos instanceof Failure) return limitPicos
  if (ref instanceof Failure) return ref
  const balance = balance_usd === undefined ? ZERO : usdOf('balance_usd', balance_usd)
  if (balance instanceof Failure) return balance
  if (balance < ZERO) return wrong('balance_usd', '0 USD or more')
  if (ref !== '' && balance === ZERO) return wrong('balance_usd', 'A reference is that of a payment: say how much it was')
  if (balance > ZERO && !maySee(caller.token.scope, 'all')) return forbidden(NEEDS_ALL)
  const problem = name === '' ? undefined : problemOfName(name)
  if (problem !== undefined) return wrong('name', problem)
  const topUp = firstTopUp(newId('crd', now), balance, ref)
  return { keyId: newId('key', now), name, accountId: accountId ?? null, plan, limitPicos, expiresInDays: expires_in_days, topUp }
}
