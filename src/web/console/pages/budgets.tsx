/** Budgets by window of a key and of an account: shown, set and removed. Rules: money.md "Budgets"; pages.md "Acts of operators". */

import { useState } from 'preact/hooks'
import { type Got, useAsked } from '../../parts/ask.ts'
import { BudgetList, PERS_TO_CHOOSE } from '../../parts/budgets.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Choice } from '../../parts/field.tsx'
import { UsdField } from '../../parts/name-and-amount.tsx'
import { Show } from '../../parts/state.tsx'
import { tell } from '../../parts/told.tsx'
import { ActForm } from '../act-dialog.tsx'
import { api } from '../api.ts'
import type { Account } from './account-money.tsx'
import { type KeyDialogOptions, titleOf } from './key-dialog.ts'

type Budgets = ReturnType<typeof api.accounts>['budgets'] | ReturnType<typeof api.keys>['budgets']
type Per = Parameters<Budgets['post']>[0]['per']
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
  const capOf = (per: Per): string =>
    shown.find((budget) => budget.of === of && budget.set_by === 'operator' && budget.per === per)?.limit_usd ?? ''
  const [per, setPer] = useState<Per>('day')
  const [limit, setLimit] = useState(() => capOf('day'))
  return (
    <ActForm
      title=""
      button="Set"
      fields={['per', 'limit_usd']}
      close={close}
      send={({ id, reason }) => budgets.post({ id, per, limit_usd: limit.trim() === '' ? null : limit.trim(), reason })}
      done={() => {
        tell(limit.trim() === '' ? 'The budget is removed' : 'The budget is set')
        done()
      }}
    >
      {(act) => (
        <>
          <Choice
            label="Window, by UTC"
            options={PERS_TO_CHOOSE}
            value={per}
            change={(chosen) => {
              setPer(chosen as Per)
              setLimit(capOf(chosen as Per))
            }}
            error={act.errorOf('per')}
          />
          <UsdField act={act} field="limit_usd" label="Budget, USD" hint="Empty for none" autoFocus value={limit} change={setLimit} />
        </>
      )}
    </ActForm>
  )
}
