/** Links that let a person in: an invitation, and one to a new password or a sign-in. Each is shown once, or mailed. Rules: pages.md "Links". */

import { useState } from 'preact/hooks'
import { CopyText } from '../../parts/copy.tsx'
import { Dialog, SHOWN_ONCE } from '../../parts/dialog.tsx'
import { Choice, Field } from '../../parts/field.tsx'
import { Pick } from '../../parts/pick.tsx'
import { ActForm } from '../act-dialog.tsx'
import { api } from '../api.ts'
import { ACCOUNTS } from '../choices.ts'

/** `link` null: only the mail has it. */
type Given = Readonly<{ email: string; link: string | null; is_mailed: boolean }>

const GivenLink = ({ given: { email, link, is_mailed }, close }: Readonly<{ given: Given; close: () => void }>) => (
  <div class="stack" {...(link === null ? {} : SHOWN_ONCE)}>
    {link !== null && <CopyText isBlock label="link" text={link} />}
    <p class="note wary">
      {link !== null && 'It works once and is shown this once. '}
      {is_mailed ? `It is mailed to ${email}.` : `Send it to ${email} only.`}
    </p>
    <div class="acts">
      <button type="button" class="primary" onClick={close}>
        Done
      </button>
    </div>
  </div>
)

const TO = [
  { value: 'owner', text: 'an account, as an owner with full access' },
  { value: 'reader', text: 'an account, as a reader who can only look' },
  { value: 'operator', text: 'the console, as an operator' },
]

/** `account`: the account on whose page the person is invited, and to which the invitation leads. */
export const InvitePerson = ({
  account,
  close,
  invited,
}: Readonly<{ account?: Readonly<{ id: string; name: string }>; close: () => void; invited: () => void }>) => {
  const [email, setEmail] = useState('')
  const [to, setTo] = useState('owner')
  const [accountIds, setAccountIds] = useState<readonly string[]>(account === undefined ? [] : [account.id])
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
              account_id: isOperator ? null : (accountIds[0] ?? ''),
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
                <Pick
                  label="Account"
                  none="name or id"
                  choices={ACCOUNTS}
                  most={1}
                  isRequired
                  values={accountIds}
                  change={setAccountIds}
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
  { value: 'sign-in cabinet', text: 'signing in to the cabinet' },
  { value: 'password console', text: 'a new password for the console' },
  { value: 'sign-in console', text: 'signing in to the console' },
]

/** `person`: who gets the link. */
export const GiveLink = ({
  person: { email, is_operator },
  close,
}: Readonly<{ person: Readonly<{ email: string; is_operator: boolean }>; close: () => void }>) => {
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
          {() => (
            <Choice label="The link is for" hint="It works once, within the hour" options={options} value={choice} change={setChoice} />
          )}
        </ActForm>
      )}
    </Dialog>
  )
}
