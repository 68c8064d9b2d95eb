/** The budgets by window that hold for a key, or for all keys of an account, and an owner's own, which may be tighter than the operator's. Rules: money.md "Budgets". */

import { useState } from 'preact/hooks'
import { useAct } from '../../parts/act.ts'
import { ask, type Got, useAsked } from '../../parts/ask.ts'
import { BudgetList, PERS_TO_CHOOSE } from '../../parts/budgets.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Choice } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { UsdField } from '../../parts/name-and-amount.tsx'
import { Show } from '../../parts/state.tsx'
import { tell } from '../../parts/told.tsx'
import { api } from '../api.ts'
import type { Key, keysOf } from '../keys-api.ts'
import { WORDS } from './keys.words.ts'

type Budgets = ReturnType<ReturnType<typeof keysOf>>['budgets'] | ReturnType<typeof api.accounts>['budgets']
const CUSTOMER = 'an owner of the account'
type Per = Parameters<Budgets['post']>[0]['per']

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
  const capOf = (per: Per): string => shown.find((one) => one.set_by === 'customer' && one.of === of && one.per === per)?.limit_usd ?? ''
  const [per, setPer] = useState<Per>('day')
  const [limit, setLimit] = useState(() => capOf('day'))
  const act = useAct()
  // The dialog of all keys is of budgets alone, that of a key is not.
  const isAlone = of === 'account'
  const submit = (): void =>
    act.run(
      () => ask(budgets.post({ per, limit_usd: limit.trim() === '' ? null : limit.trim() })),
      () => {
        tell(limit.trim() === '' ? 'The budget is removed' : 'The budget is set')
        changed()
      },
    )
  return (
    <Form act={act} kind={isAlone ? 'primary' : 'plain'} fields={['per', 'limit_usd']} button="Set the budget" submit={submit}>
      {!isAlone && <h3>Budgets</h3>}
      <BudgetList budgets={shown} customer={CUSTOMER} />
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
      <UsdField act={act} field="limit_usd" label="Budget" hint={WORDS.budgetHint} value={limit} change={setLimit} />
    </Form>
  )
}
