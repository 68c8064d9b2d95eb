/** Money that is put on an account or taken from it: the dialog shows the balance before and after the act. Rules: operator.md "Credits". */

import { useState } from 'preact/hooks'
import { useAsked } from '../../parts/ask.ts'
import { Field } from '../../parts/field.tsx'
import { UsdField } from '../../parts/name-and-amount.tsx'
import { showUsd, sumUsd } from '../../parts/show-usd.ts'
import { tell } from '../../parts/told.tsx'
import { ActDialog } from '../act-dialog.tsx'
import { api } from '../api.ts'

export type CreditKind = 'top-up' | 'refund' | 'correction'

const WORDS: Readonly<Record<CreditKind, Readonly<{ title: string; button: string; amount: string; hint: string }>>> = {
  'top-up': { title: 'Top up', button: 'Top up', amount: 'Amount, USD', hint: 'Is added to the balance' },
  refund: {
    title: 'Refund',
    button: 'Refund',
    amount: 'Amount that was paid back, USD',
    hint: 'Is taken from the balance, and never more than that',
  },
  correction: {
    title: 'Correct',
    button: 'Correct the balance',
    amount: 'Amount, USD',
    hint: 'Is added to the balance; taken from it with a minus',
  },
}

const TYPED = /^([-+]?)(\d{1,9}(?:\.\d{1,12})?)$/

/** The amount as it will be booked; undefined where the text is no amount yet. */
function bookedOf(kind: CreditKind, typed: string): string | undefined {
  const [, sign, size] = TYPED.exec(typed.trim()) ?? []
  if (size === undefined || /^[0.]+$/.test(size) || (sign === '-' && kind !== 'correction')) return undefined
  return sign === '-' || kind === 'refund' ? `-${size}` : size
}

export const MoneyDialog = ({
  account: { id: accountId, name },
  kind,
  close,
  done,
}: Readonly<{ account: Readonly<{ id: string; name: string }>; kind: CreditKind; close: () => void; done: () => void }>) => {
  const { loaded } = useAsked(() => api.accounts({ accountId }).get(), [])
  const [amount, setAmount] = useState('')
  const [ref, setRef] = useState('')
  const words = WORDS[kind]
  const balance = loaded.value?.balance_usd
  const booked = bookedOf(kind, amount)
  const after = balance === undefined || booked === undefined ? undefined : sumUsd([balance, booked])
  return (
    <ActDialog
      title={`${words.title} ${name === '' ? accountId : name}`}
      button={booked === undefined ? words.button : `${words.button} ${showUsd(booked.replace('-', kind === 'correction' ? '-' : ''))}`}
      kind={kind === 'top-up' ? 'primary' : 'danger'}
      fields={['amount_usd', 'ref']}
      needsReason={kind !== 'top-up'}
      close={close}
      send={(form) => api.accounts({ accountId }).credits.post({ ...form, kind, amount_usd: amount.replace('+', ''), ref })}
      done={({ already, balance_usd }) => {
        tell(already ? 'This stands under the reference since earlier; nothing was done now' : `The balance is ${showUsd(balance_usd)} now`)
        close()
        done()
      }}
    >
      {(act) => (
        <>
          <UsdField
            act={act}
            field="amount_usd"
            label={words.amount}
            hint={words.hint}
            required
            autoFocus
            value={amount}
            change={setAmount}
          />
          <dl class="facts" aria-live="polite">
            <dt>Balance now</dt>
            <dd>{balance === undefined ? '…' : showUsd(balance)}</dd>
            <dt>Balance then</dt>
            <dd>
              <strong>{after === undefined ? '–' : showUsd(after)}</strong>
              {after?.startsWith('-') && ' – below zero: its keys are refused'}
            </dd>
          </dl>
          <Field
            label="Reference of the payment (optional)"
            hint="The same reference and amount again is done once; another amount under it is refused"
            maxLength={200}
            autocomplete="off"
            value={ref}
            change={setRef}
            error={act.errorOf('ref')}
          />
        </>
      )}
    </ActDialog>
  )
}
