/** A new key on an account; its secret is shown once. Rules: operator.md "Keys and accounts". */

import { useState } from 'preact/hooks'
import { useAsked } from '../../parts/ask.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Choice } from '../../parts/field.tsx'
import { NameField, UsdField } from '../../parts/name-and-amount.tsx'
import { ActForm } from '../act-dialog.tsx'
import { api } from '../api.ts'
import { Secret } from './secret.tsx'

type Options = Readonly<{ account: Readonly<{ id: string; name: string }>; close: () => void; made: () => void }>

const EXPIRIES = [
  { value: '', text: 'never' },
  { value: '30', text: 'in 30 days' },
  { value: '90', text: 'in 90 days' },
]

export const MakeKey = ({ account, close, made }: Options) => {
  const [name, setName] = useState('')
  const [limit, setLimit] = useState('')
  const [days, setDays] = useState('')
  const [plan, setPlan] = useState('default')
  const [secret, setSecret] = useState<string>()
  const plans = useAsked(() => api.keys.plans.get(), []).loaded.value?.data ?? ['default']
  return (
    <Dialog title={secret === undefined ? `New key for ${account.name || account.id}` : `The key “${name.trim()}”`} close={close}>
      {secret !== undefined ? (
        <Secret secret={secret} close={close} />
      ) : (
        <ActForm
          title=""
          button="Make the key"
          fields={['name', 'limit_usd', 'expires_in_days', 'plan']}
          close={close}
          send={(form) =>
            api.keys.post({
              ...form,
              account_id: account.id,
              name,
              plan,
              limit_usd: limit.trim() === '' ? null : limit,
              expires_in_days: days === '' ? null : Number(days),
            })
          }
          done={(key) => {
            setSecret(key.secret)
            made()
          }}
        >
          {(act) => (
            <>
              <NameField act={act} required autoFocus value={name} change={setName} />
              <UsdField act={act} field="limit_usd" label="Spend limit, USD" hint="Empty for none" value={limit} change={setLimit} />
              <Choice label="Expires" options={EXPIRIES} value={days} change={setDays} error={act.errorOf('expires_in_days')} />
              <Choice
                label="Plan"
                options={plans.map((one) => ({ value: one, text: one }))}
                value={plan}
                change={setPlan}
                error={act.errorOf('plan')}
              />
            </>
          )}
        </ActForm>
      )}
    </Dialog>
  )
}
