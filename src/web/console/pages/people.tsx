/** Who may come into the cabinet and the console: all people, invitations, and links that work once. Rules: pages.md "People", "Links". */

import { useState } from 'preact/hooks'
import { type Got, useAsked } from '../../parts/ask.ts'
import { Badge } from '../../parts/badge.tsx'
import { CopyText } from '../../parts/copy.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Choice, Field } from '../../parts/field.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { showCount } from '../../parts/show-time.ts'
import { Show } from '../../parts/state.tsx'
import { Table } from '../../parts/table.tsx'
import { Moment } from '../../parts/time.tsx'
import { tell } from '../../parts/told.tsx'
import { ActDialog, ActForm } from '../act-dialog.tsx'
import { api } from '../api.ts'

type People = Got<typeof api.people.get>
type Person = People['data'][number]
type Invitation = People['invitations'][number]
type Open = Readonly<{ what: 'invite' }> | Readonly<{ what: 'remove' | 'link'; person: Person }>

export const PeoplePage = () => {
  const { loaded, again } = useAsked(() => api.people.get(), [])
  const [open, setOpen] = useState<Open>()
  const close = (): void => setOpen(undefined)
  return (
    <>
      <PageHead title="People" lede="Who may come into the cabinet and the console.">
        <button type="button" class="primary" onClick={() => setOpen({ what: 'invite' })}>
          Invite…
        </button>
      </PageHead>
      <Show loaded={loaded} again={again} lines={8}>
        {({ data, invitations }) => (
          <div class="parts">
            <Everybody people={data} open={setOpen} />
            {invitations.length > 0 && <Invited invitations={invitations} />}
          </div>
        )}
      </Show>
      {open?.what === 'invite' && <InvitePerson close={close} invited={again} />}
      {open?.what === 'link' && <GiveLink person={open.person} close={close} />}
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
        cell: ({ email, name }: Person) => (
          <span class="named">
            <span class="name">{email}</span>
            {name !== '' && name !== email && <span class="quiet">{name}</span>}
          </span>
        ),
      },
      { name: 'Console', cell: ({ is_operator }) => (is_operator ? <Badge mood="wary" text="operator" /> : '') },
      {
        name: 'Accounts',
        cell: ({ accounts }) =>
          accounts.map(({ id, role }) => (
            <span key={id} class="line">
              <a href={`/console/accounts/${id}`}>{id}</a> {role}
            </span>
          )),
      },
      { name: 'Sessions', isFigure: true, cell: ({ sessions }) => showCount(sessions) },
      {
        name: 'Change',
        isQuiet: true,
        cell: (person) => (
          <span class="acts">
            <button type="button" class="small" onClick={() => open({ what: 'link', person })}>
              Give a link…<span class="unseen"> {person.email}</span>
            </button>
            <button type="button" class="small" onClick={() => open({ what: 'remove', person })}>
              Put out…<span class="unseen"> {person.email}</span>
            </button>
          </span>
        ),
      },
    ]}
    rows={people}
    keyOf={({ email }) => email}
  />
)

const Invited = ({ invitations }: Readonly<{ invitations: readonly Invitation[] }>) => (
  <section class="stack" aria-label="Invitations">
    <h2>Invited</h2>
    <Table
      label="Invitations"
      columns={[
        { name: 'E-mail', cell: ({ email }: Invitation) => email },
        { name: 'To', cell: ({ account_id, role }) => (account_id === null ? 'the console' : `${account_id} as ${role}`) },
        { name: 'By', cell: ({ invited_by }) => invited_by.replace(/^person:/, '') },
        { name: 'Until', cell: ({ expires_at }) => <Moment iso={expires_at} /> },
      ]}
      rows={invitations}
      keyOf={({ email, account_id, expires_at }) => `${email} ${account_id} ${expires_at}`}
    />
  </section>
)

/** `link` null: only the mail has it. */
type Given = Readonly<{ email: string; link: string | null; is_mailed: boolean }>

const GivenLink = ({ given: { email, link, is_mailed }, close }: Readonly<{ given: Given; close: () => void }>) => (
  <div class="stack">
    {link !== null && <CopyText isBlock label="link" text={link} />}
    <p class="note wary">
      {link !== null && 'It works once and is shown this once. '}
      {is_mailed ? `It is mailed to ${email}.` : `Send it to ${email} and to nobody else.`}
    </p>
    <div class="acts">
      <button type="button" class="primary" onClick={close}>
        Done
      </button>
    </div>
  </div>
)

const TO = [
  { value: 'owner', text: 'an account, as an owner who may do all' },
  { value: 'reader', text: 'an account, as a reader who looks' },
  { value: 'operator', text: 'the console, as an operator' },
]

/** `account`: invited on its page, to it. */
export const InvitePerson = ({
  account,
  close,
  invited,
}: Readonly<{ account?: Readonly<{ id: string; name: string }>; close: () => void; invited: () => void }>) => {
  const [email, setEmail] = useState('')
  const [to, setTo] = useState('owner')
  const [accountId, setAccountId] = useState(account?.id ?? '')
  const [given, setGiven] = useState<Given>()
  const isOperator = to === 'operator'
  return (
    <Dialog title={account === undefined ? 'Invite a person' : `Invite to ${account.name || account.id}`} close={close}>
      {given !== undefined ? (
        <GivenLink given={given} close={close} />
      ) : (
        <ActForm
          title=""
          button="Invite"
          fields={['email', 'account_id', 'role']}
          close={close}
          send={(form) =>
            api.people.invite.post({
              ...form,
              email,
              account_id: isOperator ? null : accountId.trim(),
              role: to === 'reader' ? 'reader' : 'owner',
            })
          }
          done={(made) => {
            setGiven(made)
            invited()
          }}
        >
          {(act) => (
            <>
              <Field
                label="E-mail"
                type="email"
                required
                autoFocus
                maxLength={254}
                autocomplete="off"
                value={email}
                change={setEmail}
                error={act.errorOf('email')}
              />
              <Choice
                label="To"
                options={account === undefined ? TO : TO.slice(0, 2)}
                value={to}
                change={setTo}
                error={act.errorOf('role')}
              />
              {account === undefined && !isOperator && (
                <Field
                  label="Account"
                  hint="Its id, such as acc_…"
                  required
                  maxLength={64}
                  autocomplete="off"
                  value={accountId}
                  change={setAccountId}
                  error={act.errorOf('account_id')}
                />
              )}
            </>
          )}
        </ActForm>
      )}
    </Dialog>
  )
}

const LINKS = [
  { value: 'password cabinet', text: 'a new password for the cabinet' },
  { value: 'sign-in cabinet', text: 'sign in to the cabinet, once' },
  { value: 'password console', text: 'a new password for the console' },
  { value: 'sign-in console', text: 'sign in to the console, once' },
]

const GiveLink = ({ person: { email, is_operator }, close }: Readonly<{ person: Person; close: () => void }>) => {
  const options = is_operator ? LINKS : LINKS.slice(0, 2)
  const [choice, setChoice] = useState('password cabinet')
  const [given, setGiven] = useState<Given>()
  return (
    <Dialog title={`A link for ${email}`} close={close}>
      {given !== undefined ? (
        <GivenLink given={given} close={close} />
      ) : (
        <ActForm
          title=""
          button="Make the link"
          close={close}
          send={(form) =>
            api.people.link.post({
              ...form,
              email,
              link: choice.startsWith('password') ? 'password' : 'sign-in',
              listener: choice.endsWith('console') ? 'console' : 'cabinet',
            })
          }
          done={setGiven}
        >
          {() => <Choice label="By it one can" hint="Within the hour, once" options={options} value={choice} change={setChoice} />}
        </ActForm>
      )}
    </Dialog>
  )
}

const RemovePerson = ({ person, close, removed }: Readonly<{ person: Person; close: () => void; removed: () => void }>) => {
  const { email, is_operator, accounts } = person
  const options = [
    { value: 'everything', text: 'everything' },
    ...(is_operator ? [{ value: 'console', text: 'the console' }] : []),
    ...accounts.map(({ id, role }) => ({ value: id, text: `${id} (${role})` })),
  ]
  const [from, setFrom] = useState('everything')
  const isWord = from === 'everything' || from === 'console'
  return (
    <ActDialog
      title={`Put ${email} out`}
      button="Put out"
      kind="danger"
      close={close}
      send={({ reason }) => api.people.remove.post(isWord ? { email, from, reason } : { email, from: 'account', account_id: from, reason })}
      done={() => {
        tell(`${email} is out`)
        close()
        removed()
      }}
    >
      {() => (
        <Choice
          label="Of"
          hint="Sessions, links and open invitations end with it, at once"
          options={options}
          value={from}
          change={setFrom}
        />
      )}
    </ActDialog>
  )
}
