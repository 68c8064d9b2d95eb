/** An operator's changes of a key. A new secret is shown once. Rules: keys.md "Expiry and rotation"; pages.md "Acts of operators". */

import { useState } from 'preact/hooks'
import { Dialog } from '../../parts/dialog.tsx'
import { Choice, Field } from '../../parts/field.tsx'
import { NameField, UsdField } from '../../parts/name-and-amount.tsx'
import { isPromised, OldSecret } from '../../parts/old-secret.tsx'
import { showDate } from '../../parts/show-time.ts'
import { tell } from '../../parts/told.tsx'
import { ActDialog, ActForm } from '../act-dialog.tsx'
import { api } from '../api.ts'
import { KeyBudgets } from './budgets.tsx'
import { type KeyDialogOptions as Options, titleOf } from './key-dialog.ts'
import { KeyRates } from './key-rates.tsx'
import { Secret } from './secret.tsx'

export type KeyChange = 'change' | 'budgets' | 'rates' | 'extend' | 'rotate' | 'state'

export const ChangeKey = ({ change, ...options }: Options & Readonly<{ change: KeyChange }>) => {
  switch (change) {
    case 'change':
      return <NameAndLimit {...options} />
    case 'budgets':
      return <KeyBudgets {...options} />
    case 'rates':
      return <KeyRates {...options} />
    case 'extend':
      return <Extend {...options} />
    case 'rotate':
      return <Rotate {...options} />
    case 'state':
      return <ChangeState {...options} />
  }
}

const NameAndLimit = ({ keyOf, close, changed }: Options) => {
  const [name, setName] = useState(keyOf.name)
  const [limit, setLimit] = useState(keyOf.limit_usd ?? '')
  const change = {
    ...(name.trim() === keyOf.name ? {} : { name }),
    ...(limit.trim() === (keyOf.limit_usd ?? '') ? {} : { limit_usd: limit.trim() === '' ? null : limit.trim() }),
  }
  return (
    <ActDialog
      title={`Change ${titleOf(keyOf)}`}
      button="Change"
      fields={['name', 'limit_usd']}
      close={close}
      send={({ reason }) => api.keys({ keyId: keyOf.id }).patch({ ...change, reason })}
      done={() => {
        close()
        changed()
      }}
    >
      {(act) => (
        <>
          <NameField act={act} autoFocus value={name} change={setName} />
          <UsdField act={act} field="limit_usd" label="Spend limit, USD" hint="Empty for none" value={limit} change={setLimit} />
        </>
      )}
    </ActDialog>
  )
}

const Extend = ({ keyOf, close, changed }: Options) => {
  const [days, setDays] = useState('30')
  return (
    <ActDialog
      title={`Extend ${titleOf(keyOf)}`}
      button="Extend"
      fields={['days']}
      close={close}
      send={({ id, reason }) => api.keys({ keyId: keyOf.id }).extend.post({ id, days: Number(days), reason })}
      done={({ expires_at }) => {
        tell(`It expires ${expires_at === null ? 'never' : showDate(expires_at)}`)
        close()
        changed()
      }}
    >
      {(act) => (
        <>
          <p>{keyOf.expires_at === null ? 'It has no expiry; it gets one, from now on.' : `It expires ${showDate(keyOf.expires_at)}.`}</p>
          <Field
            label="Days more"
            hint="At most 90 days ahead of now"
            type="number"
            min="1"
            max="90"
            required
            autoFocus
            value={days}
            change={setDays}
            error={act.errorOf('days')}
          />
        </>
      )}
    </ActDialog>
  )
}

const OVERLAPS = [
  { value: '0', text: 'none: the old secret ends now' },
  { value: '1', text: '1 hour' },
  { value: '24', text: '1 day' },
  { value: '168', text: '7 days' },
]

const Rotate = ({ keyOf, close, changed }: Options) => {
  const [overlap, setOverlap] = useState('24')
  const [secret, setSecret] = useState<string>()
  const endsPromised = isPromised(keyOf.old_secret, overlap)
  return (
    <Dialog title={`New secret for ${titleOf(keyOf)}`} close={close}>
      {secret !== undefined ? (
        <Secret secret={secret} close={close} />
      ) : (
        <ActForm
          title=""
          button={endsPromised ? 'End the old secret earlier than promised' : 'Make a new secret'}
          fields={['overlap_hours']}
          close={close}
          send={({ id, reason }) =>
            api.keys({ keyId: keyOf.id }).rotate.post({ id, overlap_hours: Number(overlap), ends_promised: endsPromised, reason })
          }
          done={(made) => {
            setSecret(made.secret)
            changed()
          }}
        >
          {(act) => (
            <>
              <OldSecret old={keyOf.old_secret} overlapHours={overlap} />
              <Choice
                label="Overlap with the old secret"
                options={OVERLAPS}
                value={overlap}
                change={setOverlap}
                error={act.errorOf('overlap_hours')}
              />
            </>
          )}
        </ActForm>
      )}
    </Dialog>
  )
}

const ChangeState = ({ keyOf, close, changed }: Options) => {
  const of = api.keys({ keyId: keyOf.id })
  const isOff = keyOf.is_active
  return (
    <ActDialog
      title={`${isOff ? 'Disable' : 'Enable'} ${titleOf(keyOf)}`}
      button={isOff ? 'Disable' : 'Enable'}
      kind={isOff ? 'danger' : 'primary'}
      close={close}
      send={({ reason }) => (isOff ? of.disable.post({ reason }) : of.enable.post({ reason }))}
      done={({ is_active }) => {
        tell(is_active ? 'The key is enabled' : 'The key is disabled')
        close()
        changed()
      }}
    >
      {() => <p>{isOff ? 'It is refused from now on, and what runs is cut within a second.' : 'It may spend again at once.'}</p>}
    </ActDialog>
  )
}
