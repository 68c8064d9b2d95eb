/**
 * What is done with the keys of an account by its people, in the cabinet and in its bot: the operations of the command line, with the person as actor. A `Response` says
 * why something was not done. Rules: pages.md "Keys of an account".
 */

import type { Static } from 'elysia'
import { DEFAULT_PLAN, type Plan } from '../../core/catalog.ts'
import { ratesAsSet } from '../../core/token-buckets.ts'
import type { Operation } from '../../ledger/operation.ts'
import { newKey, type RandomBytes, rotation } from '../../ledger/operations/key-writes.ts'
import type { ListedKey } from '../../ledger/reading/account-reports.ts'
import type { Ordered } from '../../ledger/reading/list-orders.ts'
import type { Page } from '../../ledger/reading/page.ts'
import type { Reports } from '../../ledger/reading/reports.ts'
import type { Site } from '../site.ts'
import { missing, refuse } from './answers.ts'
import type { Caller } from './caller.ts'
import { change } from './change.ts'
import { keyDocument } from './key-document.ts'
import { type CREATE, limitOf, type ROTATE } from './key-fields.ts'
import { type KeysQuery, orderDocument, orderOf } from './list-order.ts'
import { wrongName } from './name-field.ts'
import type { Running } from './running.ts'
import { refuseUnread } from './unread.ts'

const PAGE = 50
const KEYS_MAX = 1_000

/** Of the account over all its keys of the plan. */
const planRatesOf = (plan: Plan | undefined) => (plan?.rates === undefined ? null : ratesAsSet(plan.rates))

type Of = Readonly<{ accountId: string; keyId: string }>

export type KeyActs = ReturnType<typeof keyActs>

/** Looks up, makes and changes the keys of an account. `random`: where a new secret comes from; default: the machine's random source. */
export function keyActs({ world }: Pick<Site, 'world'>, running: Running) {
  const { ledger, reports, clock } = world

  const shown = (key: ListedKey, count: number) => ({
    ...keyDocument(key, ledger, count, clock.now()),
    plan_rates: planRatesOf(world.catalog().plans.get(key.plan)),
  })
  /** Newest first by the ids of keys, unless an order or a search is asked for. */
  const list = async (accountId: string, query: KeysQuery, caller: Caller) => {
    const page = await keyPage(reports, accountId, query, caller)
    if (page === undefined) return missing()
    if (typeof page === 'string') return refuseUnread(page)
    const counts = running.ofAccount(accountId)
    return {
      data: page.rows.map((key) => shown(key, counts.get(key.id) ?? 0)),
      next_cursor: page.next,
      ordered: isOrdered(page) ? orderDocument(page) : null,
    }
  }
  const found = async ({ accountId, keyId }: Of, { person }: Caller): Promise<ListedKey | Response> => {
    const key = await reports.ask(`person:${person.id}`, { kind: 'accountKey', accountId, keyId })
    if (key === undefined) return missing()
    return typeof key === 'string' ? refuseUnread(key) : key
  }
  const document = async (of: Of, caller: Caller) => {
    const key = await found(of, caller)
    if (key instanceof Response) return key
    return shown(key, running.ofAccount(of.accountId).get(of.keyId) ?? 0)
  }
  const perform = async (operation: Operation, { actor, address }: Caller) => {
    const done = await ledger.operate(operation, { actor, address, reason: '' })
    if (done.result === 'done') return undefined
    return done.result === 'refused' ? refusedInWords(done.problem) : refuse(503, NOT_WRITTEN)
  }
  const changed = (of: Of, caller: Caller, operationsOn: (key: ListedKey) => readonly Operation[] | Response) =>
    change(
      { found: found(of, caller), perform: (operation) => perform(operation, caller), document: () => document(of, caller) },
      operationsOn,
    )
  const create = async (accountId: string, caller: Caller, body: Static<typeof CREATE>, random?: RandomBytes) => {
    const limit = limitOf(body.limit_usd)
    if (limit instanceof Response) return limit
    const account = await reports.ask(`person:${caller.person.id}`, { kind: 'account', accountId })
    if (account === undefined) return missing()
    if (typeof account === 'string') return refuseUnread(account)
    if (account.keyCount >= KEYS_MAX) return refuse(409, `An account has at most ${KEYS_MAX} keys`)
    // Only operators choose plans, for a key or for the new keys of an account.
    const plan = account.plan ?? DEFAULT_PLAN
    if (!world.catalog().plans.has(plan)) return refuse(409, `There is no plan "${plan}" for new keys: ask the operator`)
    const { id: keyId, name, expires_in_days: expiresInDays } = body
    const wanted = { keyId, name, accountId, plan, limitPicos: limit.picos, expiresInDays, topUp: null }
    const { operation, secret } = newKey(wanted, clock.now(), random)
    const failed = wrongName(name) ?? (await perform(operation, caller))
    return failed ?? { id: keyId, secret }
  }
  const rotate = async (of: Of, caller: Caller, body: Static<typeof ROTATE>, random?: RandomBytes) => {
    const wanted = { overlapHours: body.overlap_hours, endsPromised: body.ends_promised }
    const { operation, secret } = rotation(of.keyId, wanted, clock.now(), random)
    const rotated = await changed(of, caller, () => [operation])
    return rotated instanceof Response ? rotated : { id: of.keyId, secret }
  }
  return { list, document, changed, perform, create, rotate }
}

const keyPage = (reports: Reports, accountId: string, { order, hide, ...query }: KeysQuery, { person }: Caller) => {
  const client = `person:${person.id}`
  if (order === undefined && hide === undefined && query.search === undefined)
    return reports.ask(client, {
      kind: 'accountKeys',
      accountId,
      limit: PAGE,
      ...(query.after === undefined ? {} : { after: query.after }),
    })
  const onlyActive = hide !== undefined
  return reports.ask(client, { kind: 'orderedKeys', accountId, limit: PAGE, onlyActive, ...orderOf(order, query) })
}

const isOrdered = (page: Page<ListedKey>): page is Ordered<ListedKey> => 'among' in page

const NOT_WRITTEN = 'The gateway cannot write at this moment. Look whether it was done before you try again'

/** Refuses in words for the person, since the ledger's words are for its operator. */
function refusedInWords(problem: string) {
  if (problem.startsWith('a key named')) return refuse(409, 'Another key of this account has this name', { field: 'name' })
  if (problem.startsWith("the operator's budget")) return refuse(409, `The ${problem.slice(4)}`, { field: 'limit_usd' })
  if (problem.startsWith('the key id')) return refuse(409, 'This key was made already, and its secret was shown then')
  return refuse(409, `${problem.charAt(0).toUpperCase()}${problem.slice(1)}`)
}
