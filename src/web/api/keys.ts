/**
 * The keys of an account, for its people: lists and looks for whoever is in it, writes for its owners. They are the operations of the command line, with the
 * person as actor. Rules: pages.md "Keys of an account".
 */

import { Elysia, t } from 'elysia'
import { extension, newKey, rotation } from '../../ledger/key-writes.ts'
import type { Operation } from '../../ledger/operation.ts'
import type { Site } from '../site.ts'
import { missing, refuse } from './answers.ts'
import { type Caller, callerMacro } from './caller.ts'
import { keyDocument } from './key-document.ts'
import { CHANGE, CREATE, EXTEND, limitOf, nameProblem, ROTATE, tooFar } from './key-fields.ts'
import { runningOf } from './running.ts'
import { refuseUnread } from './unread.ts'

/** Plans are the operator's: people make keys of the one that every key has unless its owner was told otherwise. */
const PLAN = 'default'
const PAGE = 50
const KEYS_MAX = 1_000

type Of = Readonly<{ accountId: string; keyId: string }>

export function keyRoutes({ world, people }: Pick<Site, 'world' | 'people'>) {
  const { ledger, reports, clock } = world
  const running = runningOf(ledger, clock.monotonicMs)

  const document = async ({ accountId, keyId }: Of, { person }: Caller) => {
    const key = await reports.ask(`person:${person.id}`, { kind: 'accountKey', accountId, keyId })
    if (key === undefined) return missing()
    if (typeof key === 'string') return refuseUnread(key)
    return keyDocument(key, ledger, running.ofAccount(accountId).get(keyId) ?? 0, clock.now())
  }
  const perform = async (operation: Operation, { actor, address }: Caller) => {
    const done = await ledger.operate(operation, { actor, address, reason: '' })
    if (done.result === 'done') return undefined
    return done.result === 'refused' ? refusedInWords(done.problem) : refuse(503, NOT_WRITTEN)
  }
  /** The key as it is after the change, where it is one of this account. */
  const change = async (of: Of, caller: Caller, operationOn: (key: { id: string; expiresAt: number | null }) => Operation | Response) => {
    const key = await reports.ask(`person:${caller.person.id}`, { kind: 'accountKey', ...of })
    if (key === undefined) return missing()
    if (typeof key === 'string') return refuseUnread(key)
    const operation = operationOn(key)
    if (operation instanceof Response) return operation
    return (await perform(operation, caller)) ?? document(of, caller)
  }

  return new Elysia({ name: 'keys', prefix: '/cabinet/api/accounts/:accountId' })
    .use(callerMacro(people, 'cabinet'))
    .onBeforeHandle(({ set }) => {
      set.headers['cache-control'] = 'no-store'
    })
    .get(
      '/keys',
      async ({ caller, params: { accountId }, query: { after } }) => {
        const page = await reports.ask(`person:${caller.person.id}`, {
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
      },
      { member: 'reader', query: t.Object({ after: t.Optional(t.String({ maxLength: 100 })) }) },
    )
    .get('/running', ({ params: { accountId } }) => ({ running: Object.fromEntries(running.ofAccount(accountId)) }), { member: 'reader' })
    .get('/keys/:keyId', ({ caller, params }) => document(params, caller), { member: 'reader' })
    .post(
      '/keys',
      async ({ caller, params: { accountId }, body }) => {
        const limit = limitOf(body.limit_usd)
        if (limit instanceof Response) return limit
        const account = await reports.ask(`person:${caller.person.id}`, { kind: 'account', accountId })
        if (account === undefined) return missing()
        if (typeof account === 'string') return refuseUnread(account)
        if (account.keyCount >= KEYS_MAX) return refuse(409, `An account has at most ${KEYS_MAX} keys`)
        if (!world.catalog().plans.has(PLAN)) return refuse(409, `There is no plan "${PLAN}" for new keys: ask the operator`)
        const wanted = {
          keyId: body.id,
          name: body.name,
          accountId,
          plan: PLAN,
          limitPicos: limit.picos,
          expiresInDays: body.expires_in_days,
        }
        const { operation, secret } = newKey({ ...wanted, topUp: null }, clock.now())
        const failed = nameProblem(body.name) ?? (await perform(operation, caller))
        return failed ?? { id: body.id, secret }
      },
      { member: 'owner', body: CREATE },
    )
    .patch(
      '/keys/:keyId',
      async ({ caller, params, body: { name, limit_usd } }) => {
        const limit = limit_usd === undefined ? undefined : limitOf(limit_usd)
        if (limit instanceof Response) return limit
        const wrongName = name === undefined ? undefined : nameProblem(name)
        if (wrongName !== undefined) return wrongName
        const renamed =
          name === undefined
            ? undefined
            : await change(params, caller, ({ id }) => ({ kind: 'renameKey', keyId: id, name, now: clock.now() }))
        if (renamed instanceof Response || limit === undefined) return renamed ?? document(params, caller)
        return change(params, caller, ({ id }) => ({ kind: 'setKeyLimit', keyId: id, limitPicos: limit.picos, now: clock.now() }))
      },
      { member: 'owner', body: CHANGE },
    )
    .post(
      '/keys/:keyId/extend',
      ({ caller, params, body: { days } }) =>
        change(params, caller, (key) => {
          const extended = extension(key, days, clock.now())
          return 'daysLeft' in extended ? refuse(400, tooFar(extended.daysLeft), { field: 'days' }) : extended
        }),
      { member: 'owner', body: EXTEND },
    )
    .post(
      '/keys/:keyId/rotate',
      async ({ caller, params, body: { overlap_hours } }) => {
        const { operation, secret } = rotation(params.keyId, overlap_hours, clock.now())
        const changed = await change(params, caller, () => operation)
        return changed instanceof Response ? changed : { id: params.keyId, secret }
      },
      { member: 'owner', body: ROTATE },
    )
    .post('/keys/:keyId/disable', ({ caller, params }) => change(params, caller, ({ id }) => active(id, false, clock.now())), {
      member: 'owner',
    })
    .post('/keys/:keyId/enable', ({ caller, params }) => change(params, caller, ({ id }) => active(id, true, clock.now())), {
      member: 'owner',
    })
}

const NOT_WRITTEN = 'The gateway cannot write at this moment. Look whether it was done before you try again'

const active = (keyId: string, isActive: boolean, now: number): Operation => ({ kind: 'setKeyActive', keyId, isActive, now })

/** The ledger's words are for its operator. */
function refusedInWords(problem: string) {
  if (problem.startsWith('a key named')) return refuse(409, 'Another key of this account has this name', { field: 'name' })
  if (problem.startsWith('the key id')) return refuse(409, 'This key was made already, and its secret was shown then')
  return refuse(409, problem)
}
