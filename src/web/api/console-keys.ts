/** Keys for operators: looked up over all accounts, made and changed; the same operations as the command line's. Rules: keys.md "Expiry and rotation"; pages.md "Acts of operators". */

import { Elysia, type Static, t } from 'elysia'
import type { Operation } from '../../ledger/operation.ts'
import { newKey, rotation } from '../../ledger/operations/key-writes.ts'
import type { ListedKey } from '../../ledger/reading/account-reports.ts'
import { runningByKey } from '../../operator/held.ts'
import type { Site } from '../site.ts'
import { missing, refuse } from './answers.ts'
import { type Caller, callerMacro } from './caller.ts'
import { change } from './change.ts'
import { ACT_ID, type ConsoleActs, NO_STORE, REASON } from './console-acts.ts'
import { extend, renameAndLimit, setActive, setRates } from './key-changes.ts'
import { keyDocument } from './key-document.ts'
import { DAYS_MORE, ENDS_PROMISED, LIMIT_USD, limitOf, OVERLAP_HOURS, RATES_SET } from './key-fields.ts'
import { KEYS_QUERY, type KeysQuery, orderDocument, orderOf } from './list-order.ts'
import { NAME, wrongName } from './name-field.ts'

const PAGE = 50
const WHY = t.Object({ reason: REASON })
const CREATE = t.Object({
  id: ACT_ID,
  account_id: t.String({ maxLength: 64, description: 'An account' }),
  name: NAME,
  plan: t.String({ maxLength: 128, description: 'A plan of the configuration' }),
  limit_usd: LIMIT_USD,
  expires_in_days: t.Union([DAYS_MORE, t.Null()], { description: 'A whole number of days, or none' }),
  reason: REASON,
})
const ROTATE = t.Object({ id: ACT_ID, overlap_hours: OVERLAP_HOURS, ends_promised: ENDS_PROMISED, reason: REASON })

/** Routes that look up, make and change keys. */
function keyActs({ world, moment }: Site, { ask, perform, oldForm }: ConsoleActs) {
  const { ledger, clock } = world
  const runningOf = () => runningByKey(moment().held)
  const shown = (key: ListedKey, running: number) => ({
    ...keyDocument(key, ledger, running, clock.now()),
    account_id: key.accountId,
    account_name: key.accountName,
  })
  const list = async ({ order, hide, ...query }: KeysQuery, caller: Caller) => {
    const onlyActive = hide !== undefined
    const page = await ask<'orderedKeys'>(caller, { kind: 'orderedKeys', limit: PAGE, onlyActive, ...orderOf(order, query) })
    if (page === undefined) return missing()
    if (page instanceof Response) return page
    const running = runningOf()
    return { data: page.rows.map((key) => shown(key, running.get(key.id) ?? 0)), next_cursor: page.next, ordered: orderDocument(page) }
  }
  const found = async (keyId: string, caller: Caller): Promise<ListedKey | Response> => {
    const page = await ask<'keys'>(caller, { kind: 'keys', search: keyId, limit: 1 })
    return page instanceof Response ? page : (page?.rows.find(({ id }) => id === keyId) ?? missing())
  }
  const document = async (keyId: string, caller: Caller) => {
    const key = await found(keyId, caller)
    return key instanceof Response ? key : shown(key, runningOf().get(keyId) ?? 0)
  }
  const changed = (
    keyId: string,
    caller: Caller,
    reason: string | undefined,
    operationsOn: (key: ListedKey) => readonly Operation[] | Response,
  ) =>
    change(
      {
        found: found(keyId, caller),
        perform: (operation) => perform(operation, caller, reason),
        document: () => document(keyId, caller),
      },
      operationsOn,
    )
  const create = async (caller: Caller, body: Static<typeof CREATE>) => {
    const name = body.name.trim()
    const limit = limitOf(body.limit_usd)
    if (limit instanceof Response) return limit
    const wrong = wrongName(name) ?? oldForm(body.id)
    if (wrong !== undefined) return wrong
    if (!world.catalog().plans.has(body.plan)) return refuse(400, `There is no plan "${body.plan}"`, { field: 'plan' })
    const keyId = `key_${body.id}`
    const { account_id: accountId, plan, expires_in_days: expiresInDays } = body
    const wanted = { keyId, name, accountId, plan, limitPicos: limit.picos, expiresInDays, topUp: null }
    const { operation, secret } = newKey(wanted, clock.now())
    const done = await perform(operation, caller, body.reason)
    return done instanceof Response ? done : { id: keyId, secret }
  }
  const rotate = async (
    keyId: string,
    caller: Caller,
    { overlap_hours: overlapHours, ends_promised: endsPromised, reason }: Static<typeof ROTATE>,
  ) => {
    const { operation, secret } = rotation(keyId, { overlapHours, endsPromised }, clock.now())
    const rotated = await changed(keyId, caller, reason, () => [operation])
    return rotated instanceof Response ? rotated : { id: keyId, secret }
  }
  return { list, document, changed, create, rotate }
}

export function consoleKeys(site: Site, acts: ConsoleActs) {
  const { clock, catalog } = site.world
  const { once } = acts
  const { list, document, changed, create, rotate } = keyActs(site, acts)
  return new Elysia({ name: 'console keys', prefix: '/console/api/keys' })
    .use(callerMacro(site.people, 'console'))
    .onBeforeHandle(({ set }) => {
      Object.assign(set.headers, NO_STORE)
    })
    .get('', ({ caller, query }) => list(query, caller), {
      person: true,
      query: KEYS_QUERY,
    })
    .get('/plans', () => ({ data: [...catalog().plans.keys()] }), { person: true })
    .get('/:keyId', ({ caller, params }) => document(params.keyId, caller), { person: true })
    .post('', ({ caller, body }) => once(caller, 'key', body.id, () => create(caller, body)), { person: true, body: CREATE })
    .patch(
      '/:keyId',
      ({ caller, params: { keyId }, body: { name, limit_usd, reason } }) => {
        const operations = renameAndLimit(keyId, { name: name?.trim(), ...(limit_usd === undefined ? {} : { limit_usd }) }, clock.now())
        return operations instanceof Response ? operations : changed(keyId, caller, reason, () => operations)
      },
      { person: true, body: t.Object({ name: t.Optional(NAME), limit_usd: t.Optional(LIMIT_USD), reason: REASON }) },
    )
    .post(
      '/:keyId/rates',
      ({ caller, params: { keyId }, body: { reason, ...set } }) =>
        changed(keyId, caller, reason, (key) => setRates(key, set, site.world.limits(), clock.now())),
      { person: true, body: t.Object({ ...RATES_SET, reason: REASON }) },
    )
    .post(
      '/:keyId/extend',
      ({ caller, params: { keyId }, body: { id, days, reason } }) =>
        once(caller, `extend ${keyId}`, id, () => changed(keyId, caller, reason, (key) => extend(key, days, clock.now()))),
      { person: true, body: t.Object({ id: ACT_ID, days: DAYS_MORE, reason: REASON }) },
    )
    .post(
      '/:keyId/rotate',
      ({ caller, params: { keyId }, body }) => once(caller, `rotate ${keyId}`, body.id, () => rotate(keyId, caller, body)),
      { person: true, body: ROTATE },
    )
    .post(
      '/:keyId/disable',
      ({ caller, params: { keyId }, body: { reason } }) => changed(keyId, caller, reason, () => setActive(keyId, false, clock.now())),
      { person: true, body: WHY },
    )
    .post(
      '/:keyId/enable',
      ({ caller, params: { keyId }, body: { reason } }) => changed(keyId, caller, reason, () => setActive(keyId, true, clock.now())),
      { person: true, body: WHY },
    )
}
