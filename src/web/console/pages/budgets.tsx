/** Budgets by window of a key and of an account: shown, set and removed. Rules: money.md "Budgets"; pages.md "Acts of operators". */

import { type Got, useAsked } from '../../parts/ask.ts'
import { BUDGET_FIELDS, BudgetFields, useBudget } from '../../parts/budget-form.tsx'
import { BudgetList } from '../../parts/budgets.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Show } from '../../parts/state.tsx'
import { tell } from '../../parts/told.tsx'
import { ActForm } from '../act-dialog.tsx'
import { api } from '../api.ts'
import type { Account } from './account-money.tsx'
import { type KeyDialogOptions, titleOf } from './key-dialog.ts'

type Budgets = ReturnType<typeof api.accounts>['budgets'] | ReturnType<typeof api.keys>['budgets']
type Shown = Got<Budgets['get']>

export const ShownBudgets = ({ accountId, turn }: Readonly<{ accountId: string; turn: number }>) => {
  const { loaded, again } = useAsked(() => api.accounts({ accountId }).budgets.get(), [accountId, turn])
  return (
    <Show loaded={loaded} again={again}>
      {({ data }) => <BudgetList budgets={data} />}
    </Show>
  )
}

export const KeyBudgets = ({ keyOf, close, changed }: KeyDialogOptions) => (
  <BudgetsDialog
    of="key"
    title={`Budgets of ${titleOf(keyOf)}`}
    budgets={api.keys({ keyId: keyOf.id }).budgets}
    close={close}
    changed={changed}
  />
)

export const AccountBudgets = ({ account, close, changed }: Readonly<{ account: Account; close: () => void; changed: () => void }>) => (
  <BudgetsDialog
    of="account"
    title={`Budgets of ${account.name || account.id}`}
    budgets={api.accounts({ accountId: account.id }).budgets}
    close={close}
    changed={changed}
  />
)

type DialogOptions = Readonly<{ of: 'key' | 'account'; title: string; budgets: Budgets; close: () => void; changed: () => void }>

const BudgetsDialog = ({ of, title, budgets, close, changed }: DialogOptions) => {
  const { loaded, again } = useAsked(() => budgets.get(), [])
  return (
    <Dialog title={title} close={close}>
      <Show loaded={loaded} again={again}>
        {({ data }) => (
          <div class="stack">
            <BudgetList budgets={data} />
            <SetBudget
              of={of}
              shown={data}
              budgets={budgets}
              done={() => {
                close()
                changed()
              }}
              close={close}
            />
          </div>
        )}
      </Show>
    </Dialog>
  )
}

type SetOptions = Readonly<{ of: 'key' | 'account'; shown: Shown['data']; budgets: Budgets; done: () => void; close: () => void }>

const SetBudget = ({ of, shown, budgets, done, close }: SetOptions) => {
  const budget = useBudget({ of, set_by: 'operator' }, shown)
  return (
    <ActForm
      title=""
      button="Set"
      fields={BUDGET_FIELDS}
      close={close}
      send={({ id, reason }) => budgets.post({ id, ...budget.sent, reason })}
      done={() => {
        tell(budget.told)
        done()
      }}
    >
      {(act) => <BudgetFields act={act} budget={budget} label="Budget, USD" hint="Empty for none" autoFocus />}
    </ActForm>
  )
}
