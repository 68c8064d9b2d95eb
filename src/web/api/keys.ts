/**
 * The keys of an account, for its people: its members read, its owners write. Writes are the operations of the command line, with
 * the person as actor. Rules: pages.md "Keys of an account".
 */

import { Elysia, type Static, t } from 'elysia'
import type { Operation } from '../../ledger/operation.ts'
import { newKey, rotation } from '../../ledger/operations/key-writes.ts'
import type { ListedKey } from '../../ledger/reading/account-reports.ts'
import type { Site } from '../site.ts'
import { missing, refuse } from './answers.ts'
import { type Caller, callerMacro } from './caller.ts'
import { change } from './change.ts'
import { extend, renameAndLimit, setActive } from './key-changes.ts'
import { keyDocument } from './key-document.ts'
import { CHANGE, CREATE, EXTEND, limitOf, ROTATE } from './key-fields.ts'
import { wrongName } from './name-field.ts'
import { type Running, runningOf } from './running.ts'
import { refuseUnread } from './unread.ts'

/** The plan of keys that people make: only an operator gives a key another plan. */
const PLAN = 'default'
const PAGE = 50
const KEYS_MAX = 1_000

type Of = Readonly<{ accountId: string; keyId: string }>

/** Routes that look up, make and change the keys of an account. */
function keyActs({ world }: Pick<Site, 'world'>, running: Running) {
  const { ledger, reports, clock } = world

  const list = async (accountId: string, { after }: Readonly<{ after?: string }>, { person }: Caller) => {
    const page = await reports.ask(`person:${person.id}`, {
      kind: 'accountKeys',
      accountId,
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    })
    if (page === undefined) return missing()
    if (typeof page === 'string') return refuseUnread(page)
    const counts = running.ofAccount(accountId)
    const now = clock.now()
    return { data: page.rows.map((key) => keyDocument(key, ledger, counts.get(key.id) ?? 0, now)), next_cursor: page.next }
  }
  const found = async ({ accountId, keyId }: Of, { person }: Caller): Promise<ListedKey | Response> => {
    const key = await reports.ask(`person:${person.id}`, { kind: 'accountKey', accountId, keyId })
    if (key === undefined) return missing()
    return typeof key === 'string' ? refuseUnread(key) : key
  }
  const document = async (of: Of, caller: Caller) => {
    const key = await found(of, caller)
    if (key instanceof Response) return key
    return keyDocument(key, ledger, running.ofAccount(of.accountId).get(of.keyId) ?? 0, clock.now())
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
  const create = async (accountId: string, caller: Caller, body: Static<typeof CREATE>) => {
    const limit = limitOf(body.limit_usd)
    if (limit instanceof Response) return limit
    const account = await reports.ask(`person:${caller.person.id}`, { kind: 'account', accountId })
    if (account === undefined) return missing()
    if (typeof account === 'string') return refuseUnread(account)
    if (account.keyCount >= KEYS_MAX) return refuse(409, `An account has at most ${KEYS_MAX} keys`)
    if (!world.catalog().plans.has(PLAN)) return refuse(409, `There is no plan "${PLAN}" for new keys: ask the operator`)
    const { id: keyId, name, expires_in_days: expiresInDays } = body
    const wanted = { keyId, name, accountId, plan: PLAN, limitPicos: limit.picos, expiresInDays, topUp: null }
    const { operation, secret } = newKey(wanted, clock.now())
    const failed = wrongName(name) ?? (await perform(operation, caller))
    return failed ?? { id: keyId, secret }
  }
  const rotate = async (of: Of, caller: Caller, { overlap_hours: overlapHours, ends_promised: endsPromised }: Static<typeof ROTATE>) => {
    const { operation, secret } = rotation(of.keyId, { overlapHours, endsPromised }, clock.now())
    const rotated = await changed(of, caller, () => [operation])
    return rotated instanceof Response ? rotated : { id: of.keyId, secret }
  }
  return { list, document, changed, create, rotate }
}

export function keyRoutes(site: Pick<Site, 'world' | 'people'>) {
  const { ledger, clock } = site.world
  const running = runningOf(ledger, clock.monotonicMs)
  const { list, document, changed, create, rotate } = keyActs(site, running)
  return new Elysia({ name: 'keys', prefix: '/cabinet/api/accounts/:accountId' })
    .use(callerMacro(site.people, 'cabinet'))
    .onBeforeHandle(({ set }) => {
      set.headers['cache-control'] = 'no-store'
    })
    .get('/keys', ({ caller, params, query }) => list(params.accountId, query, caller), {
      member: 'reader',
      query: t.Object({ after: t.Optional(t.String({ maxLength: 100 })) }),
    })
    .get('/running', ({ params: { accountId } }) => ({ running: Object.fromEntries(running.ofAccount(accountId)) }), { member: 'reader' })
    .get('/keys/:keyId', ({ caller, params }) => document(params, caller), { member: 'reader' })
    .post('/keys', ({ caller, params: { accountId }, body }) => create(accountId, caller, body), { member: 'owner', body: CREATE })
    .patch(
      '/keys/:keyId',
      ({ caller, params, body }) => {
        const operations = renameAndLimit(params.keyId, body, clock.now())
        return operations instanceof Response ? operations : changed(params, caller, () => operations)
      },
      { member: 'owner', body: CHANGE },
    )
    .post('/keys/:keyId/extend', ({ caller, params, body: { days } }) => changed(params, caller, (key) => extend(key, days, clock.now())), {
      member: 'owner',
      body: EXTEND,
    })
    .post('/keys/:keyId/rotate', ({ caller, params, body }) => rotate(params, caller, body), { member: 'owner', body: ROTATE })
    .post('/keys/:keyId/disable', ({ caller, params }) => changed(params, caller, ({ id }) => setActive(id, false, clock.now())), {
      member: 'owner',
    })
    .post('/keys/:keyId/enable', ({ caller, params }) => changed(params, caller, ({ id }) => setActive(id, true, clock.now())), {
      member: 'owner',
    })
}

const NOT_WRITTEN = 'The gateway cannot write at this moment. Look whether it was done before you try again'

/** Refuses in words for the person, since the ledger's words are for its operator. */
function refusedInWords(problem: string) {
  if (problem.startsWith('a key named')) return refuse(409, 'Another key of this account has this name', { field: 'name' })
  if (problem.startsWith('the key id')) return refuse(409, 'This key was made already, and its secret was shown then')
  return refuse(409, `${problem.charAt(0).toUpperCase()}${problem.slice(1)}`)
}
