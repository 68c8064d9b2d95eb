/** One account: its balance and the holds on it; keys, members, credits, last requests, and the acts on it. Rules: operator.md "Keys and accounts", "Credits". */

import { useState } from 'preact/hooks'
import { useRoute } from 'preact-iso/router'
import { useAsked } from '../../parts/ask.ts'
import { Badge } from '../../parts/badge.tsx'
import { CopyText } from '../../parts/copy.tsx'
import { useKeyset } from '../../parts/keyset.ts'
import { asked, LeftOut, OrderNote, useHidden, useListChoice } from '../../parts/order.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { Empty, Show } from '../../parts/state.tsx'
import { Pager, Table } from '../../parts/table.tsx'
import { api } from '../api.ts'
import { AccountDialogs, type Open } from './account-dialogs.tsx'
import { type Account, Credits, Figures, Holds } from './account-money.tsx'
import { AccountState } from './accounts.tsx'
import { ShownBudgets } from './budgets.tsx'
import { KeyTable } from './key-table.tsx'
import { RequestList } from './requests.tsx'

export const AccountPage = () => {
  const accountId = useRoute().params['accountId'] ?? ''
  const [turn, setTurn] = useState(0)
  const { loaded, again } = useAsked(() => api.accounts({ accountId }).get(), [accountId, turn])
  return (
    <Show loaded={loaded} again={again} lines={14}>
      {(account) => <Opened account={account} turn={turn} changed={() => setTurn((before) => before + 1)} />}
    </Show>
  )
}

const Opened = ({ account, turn, changed }: Readonly<{ account: Account; turn: number; changed: () => void }>) => {
  const [open, setOpen] = useState<Open>()
  const close = (): void => setOpen(undefined)
  const title = account.name || account.id
  return (
    <div class="parts">
      <div class="stack">
        <PageHead title={title}>
          <button type="button" class="primary" onClick={() => setOpen('top-up')}>
            Top up…
          </button>
          <button type="button" onClick={() => setOpen('refund')}>
            Refund…
          </button>
          <button type="button" onClick={() => setOpen('correction')}>
            Correct…
          </button>
          <button type="button" onClick={() => setOpen('rename')}>
            Rename…
          </button>
          <button type="button" class={account.is_active ? 'danger' : undefined} onClick={() => setOpen('state')}>
            {account.is_active ? 'Disable…' : 'Enable…'}
          </button>
        </PageHead>
        <div class="titled">
          <AccountState isActive={account.is_active} />
          <CopyText text={account.id} label="account id" />
          <a href={`/console/audit?target=${encodeURIComponent(account.id)}`}>Audit log</a>
        </div>
        <Figures account={account} />
        {account.holds.length > 0 && <Holds account={account} />}
      </div>
      <section class="stack" aria-label="Budgets">
        <div class="page-head">
          <h2>Budgets</h2>
          <div class="acts">
            <button type="button" onClick={() => setOpen('budgets')}>
              Budgets…
            </button>
            <button type="button" onClick={() => setOpen('plan')}>
              Plan of new keys…
            </button>
          </div>
        </div>
        <ShownBudgets accountId={account.id} turn={turn} />
        <p class="note">New keys of its customers get the plan {account.plan ?? 'default'}.</p>
      </section>
      <Keys account={account} turn={turn} make={() => setOpen('key')} />
      <Members account={account} invite={() => setOpen('invite')} />
      <Credits accountId={account.id} turn={turn} />
      <section class="stack" aria-label="Last requests">
        <div class="page-head">
          <h2>Last requests</h2>
          <a href={`/console/requests?account_id=${encodeURIComponent(account.id)}`}>All requests of this account</a>
        </div>
        <RequestList query={{ account_id: account.id }} shownMax={10} turn={turn} />
      </section>
      <AccountDialogs account={account} open={open} close={close} changed={changed} />
    </div>
  )
}

const Keys = ({ account, turn, make }: Readonly<{ account: Account; turn: number; make: () => void }>) => {
  const pages = useKeyset('keys_after')
  const { cursor } = pages
  const [changes, setChanges] = useState(0)
  const order = useListChoice('keys_order', 'keys_after')
  const hidden = useHidden('keys_shown', 'keys_after')
  const query = { ...asked(order, hidden.isHiding), ...(cursor === undefined ? {} : { after: cursor }) }
  const { loaded, again } = useAsked(
    () => api.accounts({ accountId: account.id }).keys.get({ query }),
    [account.id, JSON.stringify(query), turn, changes],
  )
  return (
    <section class="stack" aria-label="Keys">
      <div class="page-head">
        <h2>Keys</h2>
        <button type="button" onClick={make}>
          New key…
        </button>
      </div>
      <Show loaded={loaded} again={again}>
        {({ data, next_cursor, ordered }) => (
          <>
            <LeftOut ordered={ordered} {...hidden} what="keys" />
            {data.length === 0 && (ordered?.left_out ?? 0) === 0 ? (
              <Empty title="No key spends from this account yet" />
            ) : (
              <KeyTable keys={data} changed={() => setChanges(changes + 1)} order={order} />
            )}
            <OrderNote ordered={ordered} order={order} search="" what="keys" />
            <Pager {...pages} next={next_cursor} isOrdered={order.value !== ''} />
          </>
        )}
      </Show>
    </section>
  )
}

const Members = ({ account, invite }: Readonly<{ account: Account; invite: () => void }>) => (
  <section class="stack" aria-label="Members">
    <div class="page-head">
      <h2>Members</h2>
      <button type="button" onClick={invite}>
        Invite…
      </button>
    </div>
    {account.members.length + account.invitations.length === 0 ? (
      <Empty title="This account has no members in the cabinet" />
    ) : (
      <Table
        label="Members"
        columns={[
          { name: 'E-mail', cell: ({ email }: Readonly<{ email: string; role: string; isInvited: boolean }>) => email },
          { name: 'Role', cell: ({ role }) => role },
          {
            name: 'State',
            cell: ({ isInvited }) => (isInvited ? <Badge mood="wary" text="invited" /> : <Badge mood="quiet" text="member" />),
          },
        ]}
        rows={[
          ...account.members.map(({ email, role }) => ({ email, role, isInvited: false })),
          ...account.invitations.map(({ email, role }) => ({ email, role, isInvited: true })),
        ]}
        keyOf={({ email, isInvited }) => `${email} ${isInvited}`}
      />
    )}
  </section>
)
