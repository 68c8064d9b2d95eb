/** Budgets by window of keys and accounts, and the plan of an account's new keys, for operators. Rules: money.md "Budgets"; pages.md "Acts of operators". */

import { Elysia, type Static, t } from 'elysia'
import { plansWithBudgets } from '../../core/catalog.ts'
import { PERS } from '../../core/windows.ts'
import type { Site } from '../site.ts'
import { missing, refuse } from './answers.ts'
import { budgetDocuments } from './budget-document.ts'
import { type Caller, callerMacro } from './caller.ts'
import { ACT_ID, type ConsoleActs, NO_STORE, oneOf, REASON } from './console-acts.ts'
import { LIMIT_USD, limitOf } from './key-fields.ts'

const SET = t.Object({ id: ACT_ID, per: oneOf(PERS, 'hour, day, week or month'), limit_usd: LIMIT_USD, reason: REASON })
const PLAN = t.Object({
  id: ACT_ID,
  plan: t.Union([t.String({ maxLength: 128 }), t.Null()], { description: 'A plan of the configuration, or none' }),
  reason: REASON,
})

/** `keyId` null: of all keys of the account together. */
type Of = Readonly<{ accountId: string; keyId: string | null; plans: readonly string[] }>

function budgetActs({ clock, catalog }: Site['world'], { ask, perform, once }: ConsoleActs) {
  const ofAccount = (accountId: string): Of => ({ accountId, keyId: null, plans: plansWithBudgets(catalog()) })
  const ofKey = async (keyId: string, caller: Caller): Promise<Of | Response> => {
    const key = await ask<'key'>(caller, { kind: 'key', keyId })
    if (key === undefined) return missing()
    return key instanceof Response ? key : { accountId: key.accountId, keyId, plans: [key.plan] }
  }
  const list = async (of: Of | Response, caller: Caller) => {
    if (of instanceof Response) return of
    const found = await ask<'budgets'>(caller, { kind: 'budgets', ...of, now: clock.now() })
    if (found === undefined) return missing()
    return found instanceof Response ? found : budgetDocuments(found, of.plans, catalog())
  }
  const set = async (of: Of | Response, caller: Caller, { per, limit_usd, reason }: Static<typeof SET>) => {
    const limit = limitOf(limit_usd)
    if (limit instanceof Response) return limit
    const before = await list(of, caller)
    if (of instanceof Response || before instanceof Response) return before
    const { accountId, keyId } = of
    const operation = { kind: 'setBudget', accountId, keyId, per, capPicos: limit.picos, setBy: 'operator', now: clock.now() } as const
    const done = await perform(operation, caller, reason)
    return done instanceof Response ? done : list(of, caller)
  }
  const planOf = async (accountId: string, caller: Caller) => {
    const account = await ask<'account'>(caller, { kind: 'account', accountId })
    if (account === undefined) return missing()
    return account instanceof Response ? account : { plan: account.plan }
  }
  const setPlan = async (accountId: string, caller: Caller, { plan, reason }: Static<typeof PLAN>) => {
    if (plan !== null && !catalog().plans.has(plan)) return refuse(400, `There is no plan "${plan}"`, { field: 'plan' })
    const before = await planOf(accountId, caller)
    if (before instanceof Response) return before
    const done = await perform({ kind: 'setAccountPlan', accountId, plan, now: clock.now() }, caller, reason)
    return done instanceof Response ? done : { plan }
  }
  return { ofAccount, ofKey, list, set, setPlan, once }
}

export function consoleBudgets(site: Site, acts: ConsoleActs) {
  const { ofAccount, ofKey, list, set, setPlan, once } = budgetActs(site.world, acts)
  return new Elysia({ name: 'console budgets', prefix: '/console/api' })
    .use(callerMacro(site.people, 'console'))
    .onBeforeHandle(({ set: { headers } }) => {
      Object.assign(headers, NO_STORE)
    })
    .get('/accounts/:accountId/budgets', ({ caller, params: { accountId } }) => list(ofAccount(accountId), caller), { person: true })
    .post(
      '/accounts/:accountId/budgets',
      ({ caller, params: { accountId }, body }) =>
        once(caller, `budget ${accountId}`, body.id, () => set(ofAccount(accountId), caller, body)),
      { person: true, body: SET },
    )
    .post(
      '/accounts/:accountId/plan',
      ({ caller, params: { accountId }, body }) => once(caller, `plan ${accountId}`, body.id, () => setPlan(accountId, caller, body)),
      { person: true, body: PLAN },
    )
    .get('/keys/:keyId/budgets', async ({ caller, params: { keyId } }) => list(await ofKey(keyId, caller), caller), { person: true })
    .post(
      '/keys/:keyId/budgets',
      ({ caller, params: { keyId }, body }) =>
        once(caller, `budget ${keyId}`, body.id, async () => set(await ofKey(keyId, caller), caller, body)),
      { person: true, body: SET },
    )
}
