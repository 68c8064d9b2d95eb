/** The keys of an account, for its people: its members read, its owners write. Rules: pages.md "Keys of an account". */

import { Elysia } from 'elysia'
import type { Site } from '../site.ts'
import { callerMacro } from './caller.ts'
import { keyActs } from './key-acts.ts'
import { BUDGET, keyBudgets } from './key-budgets.ts'
import { extend, renameAndLimit, setActive } from './key-changes.ts'
import { CHANGE, CREATE, EXTEND, ROTATE } from './key-fields.ts'
import { KEYS_QUERY } from './list-order.ts'
import { runningOf } from './running.ts'

export function keyRoutes(site: Pick<Site, 'world' | 'people' | 'moment' | 'holdsOf'>) {
  const { clock } = site.world
  const running = runningOf(site)
  const acts = keyActs(site, running)
  const { list, document, changed, create, rotate } = acts
  const budgets = keyBudgets(site, acts)
  return new Elysia({ name: 'keys', prefix: '/cabinet/api/accounts/:accountId' })
    .use(callerMacro(site.people, 'cabinet'))
    .onBeforeHandle(({ set }) => {
      set.headers['cache-control'] = 'no-store'
    })
    .get('/keys', ({ caller, params, query }) => list(params.accountId, query, caller), {
      member: 'reader',
      query: KEYS_QUERY,
    })
    .get('/running', ({ params: { accountId } }) => ({ running: Object.fromEntries(running.ofAccount(accountId)) }), { member: 'reader' })
    .get('/budgets', ({ caller, params: { accountId } }) => budgets.ofAccount(accountId, caller), { member: 'reader' })
    .post('/budgets', ({ caller, params: { accountId }, body }) => budgets.setOfAccount(accountId, caller, body), {
      member: 'owner',
      body: BUDGET,
    })
    .get('/keys/:keyId', ({ caller, params }) => document(params, caller), { member: 'reader' })
    .get('/keys/:keyId/budgets', ({ caller, params }) => budgets.list(params, caller), { member: 'reader' })
    .post('/keys/:keyId/budgets', ({ caller, params, body }) => budgets.set(params, caller, body), { member: 'owner', body: BUDGET })
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
