/** The plan that new keys of an account's customers get. Rules: operator.md "Keys and accounts"; pages.md "Acts of operators". */

import { useState } from 'preact/hooks'
import { useAsked } from '../../parts/ask.ts'
import { Choice } from '../../parts/field.tsx'
import { tell } from '../../parts/told.tsx'
import { ActDialog } from '../act-dialog.tsx'
import { api } from '../api.ts'
import type { Account } from './account-money.tsx'

export const PlanOfNewKeys = ({ account, close, changed }: Readonly<{ account: Account; close: () => void; changed: () => void }>) => {
  const [plan, setPlan] = useState(account.plan ?? '')
  const { value } = useAsked(() => api.keys.plans.get(), []).loaded
  // The present plan stands in the list also where the configuration has it no more.
  const plans = [...new Set([...(value?.data ?? []), ...(account.plan === null ? [] : [account.plan])])]
  return (
    <ActDialog
      title="Plan of new keys"
      button="Set"
      fields={['plan']}
      close={close}
      send={({ id, reason }) => api.accounts({ accountId: account.id }).plan.post({ id, plan: plan === '' ? null : plan, reason })}
      done={() => {
        tell('New keys get this plan')
        close()
        changed()
      }}
    >
      {(act) => (
        <>
          <p>Keys that its customers make from now on get it; those that are there keep theirs.</p>
          <Choice
            label="Plan"
            options={[{ value: '', text: 'the default' }, ...plans.map((one) => ({ value: one, text: one }))]}
            value={plan}
            change={setPlan}
            error={act.errorOf('plan')}
          />
        </>
      )}
    </ActDialog>
  )
}
