/** The budgets by window that hold for a key, or for all keys of an account, and an owner's own, which may be tighter than the operator's. Rules: money.md "Budgets". */

import { useState } from 'preact/hooks'
import { useAct } from '../../parts/act.ts'
import { ask, type Got, useAsked } from '../../parts/ask.ts'
import { BUDGET_FIELDS, BudgetFields, useBudget } from '../../parts/budget-form.tsx'
import { BudgetList } from '../../parts/budgets.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'
import { Show } from '../../parts/state.tsx'
import { tell } from '../../parts/told.tsx'
import { api } from '../api.ts'
import type { Key, keysOf } from '../keys-api.ts'
import { WORDS } from './keys.words.ts'

type Budgets = ReturnType<ReturnType<typeof keysOf>>['budgets'] | ReturnType<typeof api.accounts>['budgets']
const CUSTOMER = 'an owner of the account'

export const KeyBudgets = ({ keys, shown }: Readonly<{ keys: ReturnType<typeof keysOf>; shown: Key }>) => (
  <BudgetsOf of="key" budgets={keys({ keyId: shown.id }).budgets} id={shown.id} isOwner />
)

export const AccountBudgets = ({ accountId, isOwner, close }: Readonly<{ accountId: string; isOwner: boolean; close: () => void }>) => (
  <Dialog title={WORDS.accountBudgets} close={close}>
    <BudgetsOf of="account" budgets={api.accounts({ accountId }).budgets} id={accountId} isOwner={isOwner} />
  </Dialog>
)

type ShownOptions = Readonly<{ of: 'key' | 'account'; budgets: Budgets; id: string; isOwner: boolean }>

const BudgetsOf = ({ of, budgets, id, isOwner }: ShownOptions) => {
  const [turn, setTurn] = useState(0)
  const { loaded, again } = useAsked(() => budgets.get(), [id, turn])
  return (
    <Show loaded={loaded} again={again}>
      {({ data }) =>
        isOwner ? (
          <SetBudget of={of} budgets={budgets} shown={data} changed={() => setTurn(turn + 1)} />
        ) : (
          <BudgetList budgets={data} customer={CUSTOMER} />
        )
      }
    </Show>
  )
}

type SetOptions = Readonly<{ of: 'key' | 'account'; budgets: Budgets; shown: Got<Budgets['get']>['data']; changed: () => void }>

const SetBudget = ({ of, budgets, shown, changed }: SetOptions) => {
  const budget = useBudget({ of, set_by: 'customer' }, shown)
  const act = useAct()
  // The dialog of all keys is of budgets alone, that of a key is not.
  const isAlone = of === 'account'
  const submit = (): void =>
    act.run(
      () => ask(budgets.post(budget.sent)),
      () => {
        tell(budget.told)
        changed()
      },
    )
  return (
    <Form act={act} kind={isAlone ? 'primary' : 'plain'} fields={BUDGET_FIELDS} button="Set the budget" submit={submit}>
      {!isAlone && <h3>Budgets</h3>}
      <BudgetList budgets={shown} customer={CUSTOMER} />
      <BudgetFields act={act} budget={budget} label="Budget" hint={WORDS.budgetHint} />
    </Form>
  )
}
