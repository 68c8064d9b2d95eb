/** The members of an account; owners invite people, change roles and remove members. Rules: pages.md "Members", "Links". */

import { useState } from 'preact/hooks'
import { useAct } from '../../parts/act.ts'
import { ask, useAsked } from '../../parts/ask.ts'
import { Badge } from '../../parts/badge.tsx'
import type { Column } from '../../parts/columns.ts'
import { CopyText } from '../../parts/copy.tsx'
import { Dialog, SHOWN_ONCE } from '../../parts/dialog.tsx'
import { Choice, Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { Remove } from '../../parts/remove.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { Show } from '../../parts/state.tsx'
import { Table } from '../../parts/table.tsx'
import { Ago, Moment } from '../../parts/time.tsx'
import { tell } from '../../parts/told.tsx'
import type { AccountPageProps } from '../account-path.ts'
import { api } from '../api.ts'
import { Telegram } from './telegram.tsx'

const WORDS = {
  title: 'Members',
  lede: 'Owners manage keys, payments and members; readers can only look.',
  invite: 'Invite a person',
  remove: 'They are signed out at once. Keys stay as they are.',
  withdraw: 'The link that was sent works no more.',
} as const

const ROLES = [
  { value: 'owner', text: 'Owner: full access' },
  { value: 'reader', text: 'Reader: can only look' },
]
type Role = 'owner' | 'reader'
const roleOf = (value: string): Role => (value === 'owner' ? 'owner' : 'reader')

type Row = Readonly<{ email: string; name: string; role: Role; isYou: boolean; expiresAt: string | null }>

const membersOf = (accountId: string) => api.accounts({ accountId }).members

export const Members = ({ account }: AccountPageProps) => {
  const { id, role } = account
  const isOwner = role === 'owner'
  const { loaded, again } = useAsked(() => membersOf(id).get(), [id])
  const [isInviting, setInviting] = useState(false)
  const [opened, setOpened] = useState<Row>()
  return (
    <>
      <PageHead title={WORDS.title} lede={WORDS.lede}>
        {isOwner && (
          <button type="button" class="primary" onClick={() => setInviting(true)}>
            {WORDS.invite}
          </button>
        )}
      </PageHead>
      <Show loaded={loaded} again={again} lines={4}>
        {({ data, invitations }) => (
          <Table
            label={WORDS.title}
            columns={columnsOf(isOwner ? setOpened : undefined)}
            rows={[
              ...data.map(({ is_you, ...member }): Row => ({ ...member, isYou: is_you, expiresAt: null })),
              ...invitations.map(
                ({ email, role: as, expires_at }): Row => ({ email, name: '', role: as, isYou: false, expiresAt: expires_at }),
              ),
            ]}
            keyOf={({ email, expiresAt }) => `${email} ${expiresAt}`}
          />
        )}
      </Show>
      <Telegram account={account} />
      {isInviting && <Invite accountId={id} invited={again} close={() => setInviting(false)} />}
      {opened !== undefined && <ChangeMember accountId={id} row={opened} changed={again} close={() => setOpened(undefined)} />}
    </>
  )
}

/** `change`: undefined for members who only look. */
const columnsOf = (change: ((row: Row) => void) | undefined): readonly Column<Row>[] => [
  {
    name: 'Person',
    cell: ({ email, name }) => (
      <div class="named">
        <span class="name">{email}</span>
        {name !== '' && name !== email && <span class="quiet">{name}</span>}
      </div>
    ),
  },
  {
    name: 'Role',
    cell: ({ role, isYou, expiresAt }) => (
      <>
        {role} {isYou && <Badge mood="good" text="you" />}
        {expiresAt !== null && (
          <>
            <Badge mood="wary" text="invited" />{' '}
            <span class="quiet">
              link ends <Ago iso={expiresAt} />
            </span>
          </>
        )}
      </>
    ),
  },
  ...(change === undefined
    ? []
    : [
        {
          name: 'Change',
          isQuiet: true,
          isFigure: true,
          onCard: 'corner' as const,
          cell: (row: Row) => (
            <button type="button" class="small" aria-label={`Change ${row.email}`} onClick={() => change(row)}>
              Change
            </button>
          ),
        },
      ]),
]

const Invite = ({ accountId, invited, close }: Readonly<{ accountId: string; invited: () => void; close: () => void }>) => {
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('reader')
  const [made, setMade] = useState<Made>()
  const act = useAct()
  const submit = (): void =>
    act.run(
      () => ask(membersOf(accountId).post({ email: email.trim(), role })),
      (done) => {
        setMade(done)
        invited()
      },
    )
  return (
    <Dialog title={made === undefined ? WORDS.invite : `Invitation for ${made.email}`} close={close}>
      {made === undefined ? (
        <Form act={act} fields={['email', 'role']} button="Invite" submit={submit}>
          <Field
            label="E-mail"
            type="email"
            required
            autoFocus
            autocomplete="off"
            maxLength={300}
            value={email}
            change={setEmail}
            error={act.errorOf('email')}
          />
          <Choice label="Role" options={ROLES} value={role} change={(to) => setRole(roleOf(to))} error={act.errorOf('role')} />
        </Form>
      ) : (
        <InvitationMade made={made} close={close} />
      )}
    </Dialog>
  )
}

const ChangeMember = ({
  accountId,
  row: { email, role: before, isYou, expiresAt },
  changed,
  close,
}: Readonly<{ accountId: string; row: Row; changed: () => void; close: () => void }>) => {
  const [role, setRole] = useState(before)
  const act = useAct()
  const done = (what: string): void => {
    tell(what)
    changed()
    close()
  }
  const isInvited = expiresAt !== null
  return (
    <Dialog title={email} close={close}>
      <div class="parts">
        {!isInvited && (
          <Form
            act={act}
            fields={['role']}
            button="Save"
            submit={() =>
              act.run(
                () => ask(membersOf(accountId).role.post({ email, role })),
                () => done('Saved'),
              )
            }
          >
            <Choice label="Role" options={ROLES} value={role} change={(to) => setRole(roleOf(to))} error={act.errorOf('role')} />
          </Form>
        )}
        <Remove
          what={isInvited ? 'the invitation' : isYou ? 'yourself' : 'this member'}
          hint={isInvited ? WORDS.withdraw : isYou ? 'You are signed out and see this account no more.' : WORDS.remove}
          remove={() => ask(membersOf(accountId).remove.post({ email }))}
          removed={() => done(isInvited ? 'The invitation is withdrawn' : `${email} is removed`)}
        />
      </div>
    </Dialog>
  )
}

/** `link`: only this answer has it; null where only the mail does. */
type Made = Readonly<{ email: string; link: string | null; is_mailed: boolean; expires_at: string }>

/** The link of an invitation, shown once to the person who invites. */
const InvitationMade = ({ made: { email, link, is_mailed, expires_at }, close }: Readonly<{ made: Made; close: () => void }>) => (
  <div class="stack" {...(link === null ? {} : SHOWN_ONCE)}>
    {is_mailed && <p>The link is on its way to {email}.</p>}
    {link !== null && (
      <>
        <p>{is_mailed ? 'You may also send it yourself:' : `Send this link to ${email}:`}</p>
        <CopyText isBlock label="invitation link" text={link} />
      </>
    )}
    <p class="note wary">
      It works once, for the person with this e-mail address, until <Moment iso={expires_at} />.{link !== null && ' It is shown only now.'}
    </p>
    <div class="acts">
      <button type="button" class="primary" onClick={close}>
        Done
      </button>
    </div>
  </div>
)
