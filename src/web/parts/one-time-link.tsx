/** Pages that one-time links lead to. A link is used up when a person presses the button or the page sends it, never by a mail scanner that only looks. Rules: pages.md "Links". */

import { useState } from 'preact/hooks'
import { useAct } from './act.ts'
import { useAsked } from './ask.ts'
import { Field } from './field.tsx'
import { Form } from './form.tsx'
import { answerTo, send } from './send.ts'
import { PageHead } from './shell.tsx'
import { NewPassword } from './sign-in.tsx'
import { Show } from './state.tsx'

type Reached = Readonly<{ root: string; token: string; entered: () => void }>

export const SignInLink = ({ root, token, entered }: Reached) => {
  const act = useAct()
  return (
    <div class="alone stack">
      <PageHead title="Sign in by link" lede="This link signs you in, once." />
      <Form act={act} isCard button="Sign in" submit={() => act.run(() => send(`${root}/auth/link`, { token }), entered)} />
    </div>
  )
}

type Invitation = Readonly<{
  email: string
  account_id: string | null
  account_name: string
  invited_by: string | null
  role: 'owner' | 'reader' | null
  needs: 'nothing' | 'sign_in' | 'password'
}>

/** `entered`: called with the account that the person joined; null: the console. `signIn`: the address of the sign-in, which leads back here. */
type Invited = Readonly<{ root: string; token: string; entered: (accountId: string | null) => void; signIn: string }>

export const InvitationLink = ({ root, token, entered, signIn }: Invited) => {
  const { loaded, again } = useAsked(() => answerTo<Invitation>(`${root}/api/invitations/${encodeURIComponent(token)}`), [token])
  return (
    <div class="alone stack">
      <PageHead title="You are invited" />
      <Show loaded={loaded} again={again}>
        {(invitation) => <Accept root={root} token={token} entered={entered} signIn={signIn} invitation={invitation} />}
      </Show>
    </div>
  )
}

/** What an invitation offers, and what its person does to take it. */
export const Accept = ({ root, token, entered, signIn, invitation }: Invited & Readonly<{ invitation: Invitation }>) => {
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const act = useAct()
  const { email, account_id, role, needs, invited_by } = invitation
  const accept = (more: object) =>
    act.run(
      () => send(`${root}/auth/invite`, { token, ...more }),
      () => entered(account_id),
    )
  const account = invitation.account_name === '' ? 'an account' : `the account ${invitation.account_name}`
  const what = role === 'owner' ? `as an owner of ${account}` : role === 'reader' ? `to look at ${account}` : 'as an operator'
  return (
    <>
      <p class="lede">
        <strong>{email}</strong> is invited {what}
        {invited_by === null ? '.' : ` by ${invited_by}.`}
      </p>
      {needs === 'sign_in' && (
        <p class="note">
          This e-mail has a way in already. <a href={signIn}>Sign in with it</a>, and you come back here.
        </p>
      )}
      {needs === 'nothing' && <Form act={act} isCard button="Accept" submit={() => accept({})} />}
      {needs === 'password' && (
        <Form act={act} isCard button="Accept" fields={['password', 'name']} submit={() => accept({ password, name })}>
          <NewPassword label="Choose a password" value={password} change={setPassword} error={act.errorOf('password')} />
          <Field
            label="Your name"
            hint="Optional"
            autocomplete="name"
            maxLength={100}
            value={name}
            change={setName}
            error={act.errorOf('name')}
          />
        </Form>
      )}
    </>
  )
}
