/** Budgets by window and the plan of an account's new keys, over the operator's API. Rules: operator-api.md "Writes"; money.md "Budgets". */

import { Elysia, type Static, t } from 'elysia'
import type { Picos } from '../../core/money.ts'
import { PERS } from '../../core/windows.ts'
import type { Operation } from '../../ledger/operation.ts'
import { ACCOUNT, KEY } from './account-documents.ts'
import { accountActs } from './accounts.ts'
import { answer, ERRORS, Failure } from './failure.ts'
import { keyActs, NO_PLAN } from './key-acts.ts'
import { LIMIT, limitOf } from './key-bodies.ts'
import type { Parts } from './parts.ts'
import { oneOf, orNull, REASON, sent } from './shapes.ts'

const BUDGET = sent(
  { per: oneOf(PERS, 'The window by UTC: hour, day, week or month'), limit_usd: LIMIT, reason: REASON },
  { title: 'Budget', description: 'The most that may be spent in each window; null removes it' },
)
const PLAN = sent(
  { plan: orNull(t.String({ maxLength: 128 }), 'A plan of the configuration; null: the default'), reason: REASON },
  { title: 'AccountPlan' },
)

const detail = (operationId: string, summary: string, description: string) => ({ operationId, tags: ['Accounts'], summary, description })
const CHANGES = { scope: 'keys', reach: 'account' } as const

type Of = Readonly<{ accountId: string; keyId: string | null }>

export function budgetRoutes(parts: Parts) {
  const { clock, catalog } = parts.world
  const [accounts, keys] = [accountActs(parts), keyActs(parts)]
  const budget = (of: Of, { per }: Static<typeof BUDGET>, capPicos: Picos | null): Operation => ({
    ...({ kind: 'setBudget', per, capPicos, setBy: 'operator' } as const),
    ...of,
    now: clock.now(),
  })
  return new Elysia({ name: 'operator api budgets' })
    .use(parts.macro)
    .post(
      '/accounts/:account_id/budgets',
      async ({ caller, params: { account_id: accountId }, body }) => {
        const cap = limitOf(body.limit_usd)
        if (cap instanceof Failure) return answer(cap)
        return answer(await accounts.change(caller, accountId, body.reason, budget({ accountId, keyId: null }, body, cap)))
      },
      {
        token: CHANGES,
        body: BUDGET,
        response: { 200: ACCOUNT, ...ERRORS },
        detail: detail('setAccountBudget', 'Set a budget of an account', 'Of all its keys together, for each hour, day, week or month.'),
      },
    )
    .post(
      '/keys/:key_id/budgets',
      async ({ caller, params, body }) => {
        const cap = limitOf(body.limit_usd)
        if (cap instanceof Failure) return answer(cap)
        const made = ({ accountId, id: keyId }: Readonly<{ accountId: string; id: string }>) => budget({ accountId, keyId }, body, cap)
        return answer(await keys.change(caller, params.key_id, body.reason, made))
      },
      {
        token: CHANGES,
        body: BUDGET,
        response: { 200: KEY, ...ERRORS },
        detail: detail('setKeyBudget', 'Set a budget of a key', 'For each hour, day, week or month.'),
      },
    )
    .post(
      '/accounts/:account_id/plan',
      async ({ caller, params: { account_id: accountId }, body: { plan, reason } }) => {
        const refusedAs = plan === null || catalog().plans.has(plan) ? undefined : NO_PLAN
        const operation = { kind: 'setAccountPlan', accountId, plan, now: clock.now() } as const
        return answer(await accounts.change(caller, accountId, reason, operation, refusedAs))
      },
      {
        token: CHANGES,
        body: PLAN,
        response: { 200: ACCOUNT, ...ERRORS },
        detail: detail('setAccountPlan', 'Set the plan of an account', 'The one that new keys of its customers get.'),
      },
    )
}
