/** The dialogs of an account, one at a time: name, state, a key, an invitation, money. Rules: operator.md "Keys and accounts". */

import { useState } from 'preact/hooks'
import { NameField } from '../../parts/name-and-amount.tsx'
import { tell } from '../../parts/told.tsx'
import { ActDialog } from '../act-dialog.tsx'
import { api } from '../api.ts'
import type { Account } from './account-money.tsx'
import { AccountBudgets } from './budgets.tsx'
import { MakeKey } from './make-key.tsx'
import { type CreditKind, MoneyDialog } from './money.tsx'
import { InvitePerson } from './people-links.tsx'
import { PlanOfNewKeys } from './plan-of-new-keys.tsx'

export type Open = CreditKind | 'rename' | 'state' | 'key' | 'invite' | 'budgets' | 'plan' | undefined

type DialogsOptions = Readonly<{ account: Account; open: Open; close: () => void; changed: () => void }>

export const AccountDialogs = ({ account, open, close, changed }: DialogsOptions) => {
  switch (open) {
    case undefined:
      return null
    case 'rename':
      return <Rename account={account} close={close} changed={changed} />
    case 'state':
      return <ChangeState account={account} close={close} changed={changed} />
    case 'budgets':
      return <AccountBudgets account={account} close={close} changed={changed} />
    case 'plan':
      return <PlanOfNewKeys account={account} close={close} changed={changed} />
    case 'key':
      return <MakeKey account={account} close={close} made={changed} />
    case 'invite':
      return <InvitePerson account={account} close={close} invited={changed} />
    default:
      return <MoneyDialog account={account} kind={open} close={close} done={changed} />
  }
}

const Rename = ({ account, close, changed }: Omit<DialogsOptions, 'open'>) => {
  const [name, setName] = useState(account.name)
  return (
    <ActDialog
      title="Rename the account"
      button="Rename"
      fields={['name']}
      close={close}
      send={({ reason }) => api.accounts({ accountId: account.id }).patch({ name, reason })}
      done={() => {
        close()
        changed()
      }}
    >
      {(act) => <NameField act={act} required autoFocus value={name} change={setName} />}
    </ActDialog>
  )
}

const ChangeState = ({ account, close, changed }: Omit<DialogsOptions, 'open'>) => {
  const of = api.accounts({ accountId: account.id })
  const isOff = account.is_active
  return (
    <ActDialog
      title={isOff ? 'Disable the account' : 'Enable the account'}
      button={isOff ? 'Disable' : 'Enable'}
      kind={isOff ? 'danger' : 'primary'}
      close={close}
      send={({ reason }) => (isOff ? of.disable.post({ reason }) : of.enable.post({ reason }))}
      done={({ is_active }) => {
        tell(is_active ? 'The account is enabled' : 'The account is disabled')
        close()
        changed()
      }}
    >
      {() => (
        <p>{isOff ? 'All its keys are refused from now on, and what runs is cut within a second.' : 'Its keys may spend again at once.'}</p>
      )}
    </ActDialog>
  )
}
