/** The people who may come into the cabinet and the console, open invitations, and links that work once. Rules: pages.md "People", "Links". */

import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { type Got, useAsked } from '../../parts/ask.ts'
import { Badge } from '../../parts/badge.tsx'
import { Choice } from '../../parts/field.tsx'
import { RowMenu } from '../../parts/row-menu.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { showCount } from '../../parts/show-time.ts'
import { Show } from '../../parts/state.tsx'
import { Table } from '../../parts/table.tsx'
import { Moment } from '../../parts/time.tsx'
import { tell } from '../../parts/told.tsx'
import { ActDialog } from '../act-dialog.tsx'
import { api } from '../api.ts'
import { Actor } from './actor.tsx'
import { GiveLink, InvitePerson } from './people-links.tsx'

type People = Got<typeof api.people.get>
type Person = People['data'][number]
type Invitation = People['invitations'][number]
type Chat = Person['chats'][number]
type Open =
  | Readonly<{ what: 'invite' }>
  | Readonly<{ what: 'remove' | 'link'; person: Person }>
  | Readonly<{ what: 'chat'; person: Person; chat: Chat }>

export const PeoplePage = () => {
  const { loaded, again } = useAsked(() => api.people.get(), [])
  const [open, setOpen] = useState<Open>()
  const found = useLocation().query['find'] || undefined
  const close = (): void => setOpen(undefined)
  return (
    <>
      <PageHead title="People" lede="Who may come into the cabinet and the console.">
        <button type="button" class="primary" onClick={() => setOpen({ what: 'invite' })}>
          Invite…
        </button>
      </PageHead>
      {found !== undefined && (
        <p class="quiet">
          Only {found}. <a href="/console/people">Show all people</a>
        </p>
      )}
      <Show loaded={loaded} again={again} lines={8}>
        {({ data, invitations }) => (
          <div class="parts">
            <Everybody people={found === undefined ? data : data.filter(({ email }) => email === found)} open={setOpen} />
            {invitations.length > 0 && <Invited invitations={invitations} />}
          </div>
        )}
      </Show>
      {open?.what === 'invite' && <InvitePerson close={close} invited={again} />}
      {open?.what === 'link' && <GiveLink person={open.person} close={close} />}
      {open?.what === 'chat' && <RemoveChat person={open.person} chat={open.chat} close={close} removed={again} />}
      {open?.what === 'remove' && <RemovePerson person={open.person} close={close} removed={again} />}
    </>
  )
}

const Everybody = ({ people, open }: Readonly<{ people: readonly Person[]; open: (what: Open) => void }>) => (
  <Table
    label="People"
    columns={[
      {
        name: 'Person',
        by: ({ email }) => email,
        cell: ({ email, name }: Person) => (
          <span class="named">
            <span class="name">{email}</span>
            {name !== '' && name !== email && <span class="quiet">{name}</span>}
          </span>
        ),
      },
      {
        name: 'Console',
        onCard: 'first',
        by: ({ is_operator }) => (is_operator ? 0 : 1),
        cell: ({ is_operator }) => (is_operator ? <Badge mood="quiet" text="operator" /> : ''),
      },
      {
        name: 'Accounts',
        cell: ({ accounts }) =>
          accounts.map(({ id, name, role }) => (
            <span key={id} class="line">
              <a href={`/console/accounts/${id}`} title={id}>
                {name || id}
              </a>{' '}
              {role}
            </span>
          )),
      },
      {
        name: 'Telegram',
        cell: (person) =>
          person.chats.map((chat) => (
            <span key={chat.chat} class="line breaks">
              {chat.name}
            </span>
          )),
      },
      { name: 'Sessions', isFigure: true, onCard: 'first', by: ({ sessions }) => sessions, cell: ({ sessions }) => showCount(sessions) },
      {
        name: 'Change',
        isQuiet: true,
        onCard: 'corner',
        cell: (person) => (
          <RowMenu
            of={person.email}
            acts={[
              { text: 'Create a link…', run: () => open({ what: 'link', person }) },
              ...person.chats.map((chat) => ({
                id: String(chat.chat),
                text: `Remove the chat ${chat.name}…`,
                run: () => open({ what: 'chat', person, chat }),
              })),
              { text: 'Remove access…', run: () => open({ what: 'remove', person }) },
            ]}
          />
        ),
      },
    ]}
    rows={people}
    keyOf={({ email }) => email}
    isAll
  />
)

const Invited = ({ invitations }: Readonly<{ invitations: readonly Invitation[] }>) => (
  <section class="stack" aria-label="Invitations">
    <h2>Invited</h2>
    <Table
      label="Invitations"
      columns={[
        { name: 'E-mail', cell: ({ email }: Invitation) => email },
        {
          name: 'To',
          cell: ({ account_id, account_name, role }) =>
            account_id === null ? (
              'the console'
            ) : (
              <>
                <a href={`/console/accounts/${account_id}`} title={account_id}>
                  {account_name || account_id}
                </a>{' '}
                as {role}
              </>
            ),
        },
        { name: 'By', cell: ({ invited_by }) => <Actor actor={invited_by} /> },
        { name: 'Until', cell: ({ expires_at }) => <Moment iso={expires_at} /> },
      ]}
      rows={invitations}
      keyOf={({ email, account_id, expires_at }) => `${email} ${account_id} ${expires_at}`}
    />
  </section>
)

type ChatRemoval = Readonly<{ person: Person; chat: Chat; close: () => void; removed: () => void }>

const RemoveChat = ({ person: { email, accounts }, chat: { chat, name, account_id }, close, removed }: ChatRemoval) => (
  <ActDialog
    title={`Remove the chat of ${email}`}
    button="Remove"
    kind="danger"
    close={close}
    send={({ reason }) => api.people.chat.remove.post({ chat, account_id, reason })}
    done={() => {
      tell(`The chat of ${email} is removed`)
      close()
      removed()
    }}
  >
    {() => (
      <p>
        {name} can do nothing more in <span title={account_id}>{accounts.find(({ id }) => id === account_id)?.name || account_id}</span>{' '}
        through the bot.
      </p>
    )}
  </ActDialog>
)

const RemovePerson = ({ person, close, removed }: Readonly<{ person: Person; close: () => void; removed: () => void }>) => {
  const { email, is_operator, accounts } = person
  const options = [
    { value: 'everything', text: 'everything' },
    ...(is_operator ? [{ value: 'console', text: 'the console' }] : []),
    ...accounts.map(({ id, name, role }) => ({ value: id, text: `${name || id} (${role})` })),
  ]
  const [from, setFrom] = useState('everything')
  const isWord = from === 'everything' || from === 'console'
  return (
    <ActDialog
      title={`Remove access of ${email}`}
      button="Remove access"
      kind="danger"
      close={close}
      send={({ reason }) => api.people.remove.post(isWord ? { email, from, reason } : { email, from: 'account', account_id: from, reason })}
      done={() => {
        tell(`The access of ${email} is removed`)
        close()
        removed()
      }}
    >
      {() => (
        <Choice
          label="To"
          hint="Sessions, links and open invitations end with it, at once"
          options={options}
          value={from}
          change={setFrom}
        />
      )}
    </ActDialog>
  )
}
