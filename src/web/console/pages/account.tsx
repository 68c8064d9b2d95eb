/** One account: its balance and what is held of it, and why; keys, members, credits, last requests, and what can be done with it. Rules: operator.md "Keys and accounts", "Credits". */

import { useState } from 'preact/hooks'
import { useRoute } from 'preact-iso/router'
import { type Got, useAsked } from '../../parts/ask.ts'
import { Badge } from '../../parts/badge.tsx'
import { CopyText } from '../../parts/copy.tsx'
import { useKeyset } from '../../parts/keyset.ts'
import { NameField } from '../../parts/name-and-amount.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { showCount } from '../../parts/show-time.ts'
import { Empty, Show } from '../../parts/state.tsx'
import { Pager, Table } from '../../parts/table.tsx'
import { Ago, Moment } from '../../parts/time.tsx'
import { tell } from '../../parts/told.tsx'
import { Usd } from '../../parts/usd.tsx'
import { ActDialog } from '../act-dialog.tsx'
import { api } from '../api.ts'
import { AccountState } from './accounts.tsx'
import { KeyTable } from './key-table.tsx'
import { MakeKey } from './make-key.tsx'
import { type CreditKind, MoneyDialog } from './money.tsx'
import { InvitePerson } from './people.tsx'
import { RequestList } from './requests.tsx'

type One = ReturnType<typeof api.accounts>
type Account = Got<One['get']>
type Credit = Got<One['credits']['get']>['data'][number]
type Hold = Account['holds'][number]

type Open = CreditKind | 'rename' | 'state' | 'key' | 'invite' | undefined

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
  const title = account.name === '' ? 'Account without a name' : account.name
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
          <a href={`/console/audit?target=${encodeURIComponent(account.id)}`}>What was done to it</a>
        </div>
        <Figures account={account} />
        {account.holds.length > 0 && <Holds account={account} />}
      </div>
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
      <Dialogs account={account} open={open} close={close} changed={changed} />
    </div>
  )
}

const Figures = ({ account }: Readonly<{ account: Account }>) => (
  <dl class="figures">
    <div>
      <dt>Balance</dt>
      <dd>
        <Usd exact={account.balance_usd} />
      </dd>
      <dd>
        {account.topped_up_at === null ? (
          'never topped up'
        ) : (
          <>
            topped up <Ago iso={account.topped_up_at} />
          </>
        )}
      </dd>
    </div>
    <div>
      <dt>Held now</dt>
      <dd>
        <Usd exact={account.held_usd} />
      </dd>
      <dd>{account.held_requests === 0 ? 'no request runs' : `${showCount(account.held_requests)} running`}</dd>
    </div>
    <div>
      <dt>Credited</dt>
      <dd>
        <Usd exact={account.credited_usd} />
      </dd>
      <dd>in all</dd>
    </div>
    <div>
      <dt>Spent</dt>
      <dd>
        <Usd exact={account.spent_usd} />
      </dd>
      <dd>
        {account.last_used_at === null ? (
          'never used'
        ) : (
          <>
            last <Ago iso={account.last_used_at} />
          </>
        )}
      </dd>
    </div>
  </dl>
)

/** Why money is held: each running request keeps its worst case. */
const Holds = ({ account }: Readonly<{ account: Account }>) => (
  <section class="stack" aria-label="Held money">
    <h2>Held by running requests</h2>
    <Table
      label="Holds"
      columns={[
        { name: 'Since', cell: ({ started_at }: Hold) => <Moment iso={started_at} /> },
        { name: 'Held', isFigure: true, cell: ({ amount_usd }) => <Usd exact={amount_usd} /> },
        { name: 'Model', cell: ({ model, stream }) => `${model}${stream ? ', stream' : ''}` },
        { name: 'Key', cell: ({ key_id }) => <code>{key_id}</code> },
        { name: 'Request', cell: ({ request_id }) => <code>{request_id}</code> },
      ]}
      rows={account.holds}
      keyOf={({ request_id }) => request_id}
    />
    {account.held_requests > account.holds.length && (
      <p class="lede">
        The {showCount(account.holds.length)} oldest of {showCount(account.held_requests)}.
      </p>
    )}
  </section>
)

const Keys = ({ account, turn, make }: Readonly<{ account: Account; turn: number; make: () => void }>) => {
  const pages = useKeyset('keys_after')
  const { cursor } = pages
  const [changes, setChanges] = useState(0)
  const query = cursor === undefined ? {} : { after: cursor }
  const { loaded, again } = useAsked(() => api.accounts({ accountId: account.id }).keys.get({ query }), [account.id, cursor, turn, changes])
  return (
    <section class="stack" aria-label="Keys">
      <div class="page-head">
        <h2>Keys</h2>
        <button type="button" onClick={make}>
          New key…
        </button>
      </div>
      <Show loaded={loaded} again={again}>
        {({ data, next_cursor }) => (
          <>
            {data.length === 0 ? (
              <Empty title="No key spends from this account yet" />
            ) : (
              <KeyTable keys={data} changed={() => setChanges(changes + 1)} />
            )}
            <Pager {...pages} next={next_cursor} />
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
      <Empty title="Nobody sees this account in the cabinet" />
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

const Credits = ({ accountId, turn }: Readonly<{ accountId: string; turn: number }>) => {
  const pages = useKeyset('credits_after')
  const { cursor } = pages
  const query = cursor === undefined ? {} : { after: cursor }
  const { loaded, again } = useAsked(() => api.accounts({ accountId }).credits.get({ query }), [accountId, cursor, turn])
  return (
    <section class="stack" aria-label="Credits">
      <h2>Credits</h2>
      <Show loaded={loaded} again={again}>
        {({ data, next_cursor }) => (
          <>
            {data.length === 0 ? (
              <Empty title="Nothing was credited yet" />
            ) : (
              <Table
                label="Credits"
                columns={[
                  { name: 'When', cell: ({ created_at }: Credit) => <Moment iso={created_at} /> },
                  { name: 'Amount', isFigure: true, cell: ({ amount_usd }) => <Usd exact={amount_usd} /> },
                  { name: 'Kind', cell: ({ kind }) => kind },
                  { name: 'By', cell: ({ actor }) => actor.replace(/^person:/, '') },
                  { name: 'Reference', cell: ({ ref }) => <span class="breaks">{ref}</span> },
                  { name: 'Reason', cell: ({ reason }) => <span class="breaks">{reason}</span> },
                ]}
                rows={data}
                keyOf={({ id }) => id}
              />
            )}
            <Pager {...pages} next={next_cursor} />
          </>
        )}
      </Show>
    </section>
  )
}

type DialogsOptions = Readonly<{ account: Account; open: Open; close: () => void; changed: () => void }>

const Dialogs = ({ account, open, close, changed }: DialogsOptions) => {
  switch (open) {
    case undefined:
      return null
    case 'rename':
      return <Rename account={account} close={close} changed={changed} />
    case 'state':
      return <ChangeState account={account} close={close} changed={changed} />
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
        tell(is_active ? 'The account is live again' : 'The account is disabled')
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
