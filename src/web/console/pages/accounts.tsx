/** Accounts: they are looked up by the beginning of a name or id, and made. Rules: operator.md "Keys and accounts", "Lists". */

import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { type Got, useAsked } from '../../parts/ask.ts'
import { Badge } from '../../parts/badge.tsx'
import type { Order } from '../../parts/columns.ts'
import { Field } from '../../parts/field.tsx'
import { useKeyset } from '../../parts/keyset.ts'
import { NameField, UsdField } from '../../parts/name-and-amount.tsx'
import { asked, OrderNote, useListChoice } from '../../parts/order.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { showCount } from '../../parts/show-time.ts'
import { Empty, Show } from '../../parts/state.tsx'
import { Pager, Table } from '../../parts/table.tsx'
import { Ago } from '../../parts/time.tsx'
import { tell } from '../../parts/told.tsx'
import { ActDialog } from '../act-dialog.tsx'
import { api } from '../api.ts'
import { Search, usePaused } from '../search.tsx'

type Account = Got<typeof api.accounts.get>['data'][number]

export const AccountsPage = () => {
  const { route } = useLocation()
  const [text, setText] = useState('')
  const [isMaking, setMaking] = useState(false)
  const search = usePaused(text.trim())
  const pages = useKeyset()
  const { cursor } = pages
  const order = useListChoice('order')
  const query = { ...asked(order, false), ...(search === '' ? {} : { search }), ...(cursor === undefined ? {} : { after: cursor }) }
  const { loaded, again } = useAsked(() => api.accounts.get({ query }), [JSON.stringify(query)])
  return (
    <>
      <PageHead title="Accounts" lede="The balances that keys spend from.">
        <button type="button" class="primary" onClick={() => setMaking(true)}>
          New account…
        </button>
      </PageHead>
      <Search
        label="Find an account"
        hint="The beginning of its name or id"
        value={text}
        change={(value) => {
          setText(value)
          pages.first()
        }}
      />
      <Show loaded={loaded} again={again} lines={10}>
        {({ data, next_cursor, ordered }) => (
          <>
            {data.length === 0 ? <None isSearch={search !== ''} /> : <AccountTable accounts={data} order={order} />}
            <OrderNote ordered={ordered} order={order} search={search} what="accounts" />
            <Pager {...pages} next={next_cursor} isOrdered={order.value !== ''} />
          </>
        )}
      </Show>
      {isMaking && <MakeAccount close={() => setMaking(false)} made={(id) => route(`/console/accounts/${id}`)} />}
    </>
  )
}

const None = ({ isSearch }: Readonly<{ isSearch: boolean }>) =>
  isSearch ? (
    <Empty title="No account begins so">
      <p>Names are found by their beginning, in whatever case; ids as they are.</p>
    </Empty>
  ) : (
    <Empty title="There are no accounts yet">
      <p>An account holds a balance; its keys spend from it.</p>
    </Empty>
  )

const AccountTable = ({ accounts, order }: Readonly<{ accounts: readonly Account[]; order: Order }>) => (
  <Table
    label="Accounts"
    columns={[
      {
        name: 'Account',
        order: 'name',
        cell: ({ id, name }: Account) => (
          <a class="named" href={`/console/accounts/${id}`}>
            {name !== '' && <span class="name">{name}</span>}
            <code>{id}</code>
          </a>
        ),
      },
      { name: 'Balance', order: 'balance', onCard: 'first', usd: ({ balance_usd }) => balance_usd },
      { name: 'State', onCard: 'corner', cell: ({ is_active }) => <AccountState isActive={is_active} /> },
      { name: 'Credited', order: 'credited', usd: ({ credited_usd }) => credited_usd },
      { name: 'Spent', order: 'spent', onCard: 'first', usd: ({ spent_usd }) => spent_usd },
      { name: 'Keys', isFigure: true, cell: ({ keys, has_more_keys }) => `${showCount(keys)}${has_more_keys ? '+' : ''}` },
      { name: 'Topped up', order: 'topped_up', cell: ({ topped_up_at }) => (topped_up_at === null ? 'never' : <Ago iso={topped_up_at} />) },
    ]}
    rows={accounts}
    keyOf={({ id }) => id}
    order={order}
    kept="console accounts"
  />
)

export const AccountState = ({ isActive }: Readonly<{ isActive: boolean }>) =>
  isActive ? <Badge mood="good" text="active" /> : <Badge mood="bad" text="disabled" />

const MakeAccount = ({ close, made }: Readonly<{ close: () => void; made: (id: string) => void }>) => {
  const [name, setName] = useState('')
  const [balance, setBalance] = useState('')
  const [ref, setRef] = useState('')
  return (
    <ActDialog
      title="New account"
      button="Make the account"
      fields={['name', 'balance_usd', 'ref']}
      close={close}
      send={(form) => api.accounts.post({ ...form, name, balance_usd: balance, ref })}
      done={({ id, already }) => {
        tell(already ? 'This account was made before under that reference' : `${name.trim()} is made`)
        made(id)
      }}
    >
      {(act) => (
        <>
          <NameField act={act} required autoFocus value={name} change={setName} />
          <UsdField act={act} field="balance_usd" label="First top-up, USD (optional)" value={balance} change={setBalance} />
          <Field
            label="Reference of the payment (optional)"
            hint="It is credited once: given again, nothing is done"
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
