/** Prepaid codes in batches, which are made, shown once and taken back. Rules: pages.md "Codes". */

import { useState } from 'preact/hooks'
import { csvLine } from '../../../core/csv.ts'
import { type Got, useAsked } from '../../parts/ask.ts'
import { Badge, type Mood, stateText } from '../../parts/badge.tsx'
import { CopyText } from '../../parts/copy.tsx'
import { Dialog, SHOWN_ONCE } from '../../parts/dialog.tsx'
import { Choice, Field } from '../../parts/field.tsx'
import { useKeyset } from '../../parts/keyset.ts'
import { UsdField } from '../../parts/name-and-amount.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { showCount, showDate } from '../../parts/show-time.ts'
import { showUsd } from '../../parts/show-usd.ts'
import { Empty, Show } from '../../parts/state.tsx'
import { Pager, Table } from '../../parts/table.tsx'
import { Ago } from '../../parts/time.tsx'
import { ActForm } from '../act-dialog.tsx'
import { api } from '../api.ts'

type Batch = Got<typeof api.codes.get>['data'][number]

export const STATES: Readonly<Record<Batch['state'], Mood>> = { live: 'good', expired: 'wary', disabled: 'bad' }

export const CodesPage = () => {
  const pages = useKeyset()
  const { cursor } = pages
  const [isMaking, setMaking] = useState(false)
  const query = { limit: 50, ...(cursor === undefined ? {} : { after: cursor }) }
  const { loaded, again } = useAsked(() => api.codes.get({ query }), [cursor])
  return (
    <>
      <PageHead title="Codes" lede="Prepaid codes that are redeemed in the cabinet, each once.">
        <button type="button" class="primary" onClick={() => setMaking(true)}>
          Make codes…
        </button>
      </PageHead>
      <Show loaded={loaded} again={again} lines={8}>
        {({ data, next_cursor }) => (
          <>
            {data.length === 0 ? (
              <Empty title="There are no codes yet">
                <p>Codes are made in batches of one amount and shown once, to be sold or sent.</p>
              </Empty>
            ) : (
              <Batches batches={data} />
            )}
            <Pager {...pages} next={next_cursor} />
          </>
        )}
      </Show>
      {isMaking && <MakeCodes close={() => setMaking(false)} made={again} />}
    </>
  )
}

const Batches = ({ batches }: Readonly<{ batches: readonly Batch[] }>) => (
  <Table
    label="Batches"
    columns={[
      {
        name: 'Batch',
        cell: ({ id, name }: Batch) => (
          <a class="named" href={`/console/codes/${id}`}>
            {name !== '' && <span class="name">{name}</span>}
            <code>{id}</code>
          </a>
        ),
      },
      { name: 'State', onCard: 'corner', cell: ({ state }) => <Badge mood={STATES[state]} text={stateText(state)} /> },
      { name: 'Each', onCard: 'first', usd: ({ amount_usd }) => amount_usd },
      { name: 'Redeemed', isFigure: true, onCard: 'first', cell: ({ count, redeemed }) => `${showCount(redeemed)} of ${showCount(count)}` },
      { name: 'Made', cell: ({ created_at }) => <Ago iso={created_at} /> },
      { name: 'Expires', cell: ({ expires_at }) => (expires_at === null ? 'never' : showDate(expires_at)) },
    ]}
    rows={batches}
    keyOf={({ id }) => id}
  />
)

const EXPIRIES = [
  { value: '', text: 'never' },
  { value: '30', text: 'in 30 days' },
  { value: '90', text: 'in 90 days' },
  { value: '365', text: 'in a year' },
]

type Made = Readonly<{ id: string; name: string; amount_usd: string; codes: readonly string[] }>

const MakeCodes = ({ close, made }: Readonly<{ close: () => void; made: () => void }>) => {
  const [count, setCount] = useState('10')
  const [amount, setAmount] = useState('')
  const [name, setName] = useState('')
  const [days, setDays] = useState('')
  const [batch, setBatch] = useState<Made>()
  const total = /^\d{1,4}$/.test(count) && /^\d{1,7}(\.\d{1,2})?$/.test(amount.trim()) ? Number(count) * Number(amount) : undefined
  return (
    <Dialog
      title={batch === undefined ? 'Make codes' : `${showCount(batch.codes.length)} codes of ${showUsd(batch.amount_usd)}`}
      close={close}
    >
      {batch !== undefined ? (
        <Shown batch={batch} close={close} />
      ) : (
        <ActForm
          title=""
          button="Make the codes"
          fields={['count', 'amount_usd', 'name', 'expires_in_days']}
          close={close}
          send={(form) =>
            api.codes.post({ ...form, count: Number(count), amount_usd: amount, name, expires_in_days: days === '' ? null : Number(days) })
          }
          done={(value) => {
            setBatch(value)
            made()
          }}
        >
          {(act) => (
            <>
              <Field
                label="How many"
                hint="1 to 1,000"
                type="number"
                min="1"
                max="1000"
                required
                autoFocus
                value={count}
                change={setCount}
                error={act.errorOf('count')}
              />
              <UsdField
                act={act}
                field="amount_usd"
                label="Each is worth, USD"
                hint={total === undefined ? 'Such as 25' : `${showUsd(total.toFixed(2), 2)} in all`}
                required
                value={amount}
                change={setAmount}
              />
              <Field
                label="Name of the batch (optional)"
                maxLength={128}
                autocomplete="off"
                value={name}
                change={setName}
                error={act.errorOf('name')}
              />
              <Choice label="Expire" options={EXPIRIES} value={days} change={setDays} error={act.errorOf('expires_in_days')} />
            </>
          )}
        </ActForm>
      )}
    </Dialog>
  )
}

const Shown = ({ batch: { id, name, amount_usd, codes }, close }: Readonly<{ batch: Made; close: () => void }>) => {
  const save = (): void => {
    const text = [['code', 'amount_usd', 'batch'], ...codes.map((code) => [code, amount_usd, name || id])].map(csvLine).join('')
    const link = document.createElement('a')
    link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
    link.download = `codes-${id}.csv`
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 1_000)
  }
  return (
    <div class="stack" {...SHOWN_ONCE}>
      <p class="note wary">They are shown this once; only their hashes are kept. Copy or save them before you close this.</p>
      <div class="code-list">
        <CopyText isBlock label="all codes" text={codes.join('\n')} />
      </div>
      <div class="acts">
        <button type="button" onClick={save}>
          Save as CSV
        </button>
        <button type="button" class="primary" onClick={close}>
          I have them
        </button>
      </div>
    </div>
  )
}
