/** Budgets by window of a key and of all keys of an account, for its people: they see all that hold, and an owner sets one beside the operator's. Rules: money.md "Budgets"; pages.md "Keys of an account". */

import { type Static, t } from 'elysia'
import { PERS } from '../../core/windows.ts'
import type { ListedKey } from '../../ledger/reading/account-reports.ts'
import type { Site } from '../site.ts'
import { missing } from './answers.ts'
import { budgetDocuments } from './budget-document.ts'
import type { Caller } from './caller.ts'
import { oneOf } from './console-acts.ts'
import type { KeyActs } from './key-acts.ts'
import { LIMIT_USD, limitOf } from './key-fields.ts'
import { refuseUnread } from './unread.ts'

export const BUDGET = t.Object({ per: oneOf(PERS, 'hour, day, week or month'), limit_usd: LIMIT_USD })

type Of = Readonly<{ accountId: string; keyId: string }>

export function keyBudgets({ world }: Pick<Site, 'world'>, { document, changed, perform }: KeyActs) {
  const { reports, clock, catalog } = world
  const read = async (of: Readonly<{ accountId: string; keyId: string | null }>, plans: readonly string[], { person }: Caller) => {
    const found = await reports.ask(`person:${person.id}`, { kind: 'budgets', ...of, plans, now: clock.now() })
    if (found === undefined) return missing()
    return typeof found === 'string' ? refuseUnread(found) : budgetDocuments(found, plans, catalog())
  }
  const list = async (of: Of, caller: Caller) => {
    const key = await document(of, caller)
    return key instanceof Response ? key : read(of, [key.plan], caller)
  }
  const ofAccount = (accountId: string, caller: Caller) => read({ accountId, keyId: null }, [], caller)
  const set = async (of: Of, caller: Caller, { per, limit_usd }: Static<typeof BUDGET>) => {
    const limit = limitOf(limit_usd)
    if (limit instanceof Response) return limit
    const operationOn = ({ accountId, id: keyId }: ListedKey) =>
      ({ kind: 'setBudget', accountId, keyId, per, capPicos: limit.picos, setBy: 'customer', now: clock.now() }) as const
    const done = await changed(of, caller, (key) => [operationOn(key)])
    return done instanceof Response ? done : list(of, caller)
  }
  const setOfAccount = async (accountId: string, caller: Caller, { per, limit_usd }: Static<typeof BUDGET>) => {
    const limit = limitOf(limit_usd)
    if (limit instanceof Response) return limit
    const of = { accountId, keyId: null, per, capPicos: limit.picos, setBy: 'customer' } as const
    return (await perform({ kind: 'setBudget', ...of, now: clock.now() }, caller)) ?? ofAccount(accountId, caller)
  }
  return { list, set, ofAccount, setOfAccount }
}
