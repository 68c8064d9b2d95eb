/** The budgets by window that hold for a key, and an owner's own, which may be tighter than the operator's. Rules: money.md "Budgets". */

import { useState } from 'preact/hooks'
import { useAct } from '../../parts/act.ts'
import { ask, type Got, useAsked } from '../../parts/ask.ts'
import { BudgetList, PERS_TO_CHOOSE } from '../../parts/budgets.tsx'
import { Choice } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { UsdField } from '../../parts/name-and-amount.tsx'
import { Show } from '../../parts/state.tsx'
import { tell } from '../../parts/told.tsx'
import type { Key, keysOf } from '../keys-api.ts'
import { WORDS } from './keys.words.ts'

type Budgets = ReturnType<ReturnType<typeof keysOf>>['budgets']
type Per = Parameters<Budgets['post']>[0]['per']

export const KeyBudgets = ({ keys, shown }: Readonly<{ keys: ReturnType<typeof keysOf>; shown: Key }>) => {
  const { budgets } = keys({ keyId: shown.id })
  const [turn, setTurn] = useState(0)
  const { loaded, again } = useAsked(() => budgets.get(), [shown.id, turn])
  return (
    <Show loaded={loaded} again={again}>
      {({ data }) => <SetBudget budgets={budgets} shown={data} changed={() => setTurn(turn + 1)} />}
    </Show>
  )
}

type SetOptions = Readonly<{ budgets: Budgets; shown: Got<Budgets['get']>['data']; changed: () => void }>

const SetBudget = ({ budgets, shown, changed }: SetOptions) => {
  const capOf = (per: Per): string => shown.find((one) => one.set_by === 'customer' && one.of === 'key' && one.per === per)?.limit_usd ?? ''
  const [per, setPer] = useState<Per>('day')
  const [limit, setLimit] = useState(() => capOf('day'))
  const act = useAct()
  const submit = (): void =>
    act.run(
      () => ask(budgets.post({ per, limit_usd: limit.trim() === '' ? null : limit.trim() })),
      () => {
        tell(limit.trim() === '' ? 'The budget is removed' : 'The budget is set')
        changed()
      },
    )
  return (
    <Form act={act} kind="plain" fields={['per', 'limit_usd']} button="Set the budget" submit={submit}>
      <h3>Budgets</h3>
      <BudgetList budgets={shown} customer="an owner of the account" />
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
