/** What each window of a budget has left, over the operator's API: the sums that the console shows. Rules: operator-api.md "Scopes", "Documents"; money.md "Budgets". */

import { Elysia, type Static, t } from 'elysia'
import { plansWithBudgets } from '../../core/catalog.ts'
import { PERS } from '../../core/windows.ts'
import { budgetDocuments } from '../api/budget-document.ts'
import { type ApiCaller, seesAccount } from './caller.ts'
import { answer, ERRORS, Failure, missing } from './failure.ts'
import type { Parts } from './parts.ts'
import { seenKey } from './reach.ts'
import { AT, EXACT, oneOf, orNull } from './shapes.ts'

const BUDGETS = t.Object(
  {
    data: t.Array(
      t.Object(
        {
          of: oneOf(['key', 'account', 'plan'], 'Whose spend it caps: of the key, of all keys of the account, or of those of the plan'),
          plan: orNull(t.String(), 'The plan whose budget it is; null: it is of the key or account'),
          set_by: oneOf(['operator', 'customer'], 'Who set it; the configuration sets those of plans, which is the operator'),
          per: oneOf(PERS, 'The window by UTC: hour, day, week or month'),
          limit_usd: EXACT('the most that may be spent in each window'),
          spent_usd: EXACT('what was spent in the present window'),
          left_usd: EXACT('the limit less what was spent; negative where the last requests cost more than was left'),
          resets_at: AT('the end of the present window'),
        },
        { title: 'WindowBudget', description: 'A budget, and what its present window has left' },
      ),
    ),
  },
  { title: 'Budgets', description: 'All that hold for it, those of a key before those of its account and plan' },
)

type Of = Readonly<{ accountId: string; keyId: string | null; plans: readonly string[] }>

export function budgetLooks({ world: { clock, catalog }, acts: { ask }, macro }: Parts) {
  const look = async (caller: ApiCaller, of: Of): Promise<Static<typeof BUDGETS> | Failure> => {
    const found = await ask<'budgets'>(caller, { kind: 'budgets', ...of, now: clock.now() })
    if (found === undefined) return missing()
    return found instanceof Failure ? found : budgetDocuments(found, of.plans, catalog())
  }
  const ofAccount = async (caller: ApiCaller, accountId: string) =>
    seesAccount(caller, accountId) ? look(caller, { accountId, keyId: null, plans: plansWithBudgets(catalog()) }) : missing()
  const ofKey = async (caller: ApiCaller, keyId: string) => {
    const key = await seenKey(ask, caller, keyId)
    return key instanceof Failure ? key : look(caller, { accountId: key.accountId, keyId, plans: [key.plan] })
  }
  const shown = { token: { scope: 'read', reach: 'account' }, response: { 200: BUDGETS, ...ERRORS } } as const
  const detail = (operationId: string, summary: string, description: string) => ({ operationId, tags: ['Accounts'], summary, description })
  return new Elysia({ name: 'operator api looks at budgets' })
    .use(macro)
    .get('/accounts/:account_id/budgets', async ({ caller, params }) => answer(await ofAccount(caller, params.account_id)), {
      ...shown,
      detail: detail('getAccountBudgets', 'Show the budgets of an account', 'Its own and those of plans, with what each window has left.'),
    })
    .get('/keys/:key_id/budgets', async ({ caller, params }) => answer(await ofKey(caller, params.key_id)), {
      ...shown,
      detail: detail('getKeyBudgets', 'Show the budgets of a key', 'All that hold for it: its own, its account’s and its plan’s.'),
    })
}
