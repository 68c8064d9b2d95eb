/** The cabinet's first page and its ways in. */

import { useEffect } from 'preact/hooks'
import { useLocation, useRoute } from 'preact-iso/router'
import { ByMail } from '../../parts/by-mail.tsx'
import { ResetPassword } from '../../parts/new-password.tsx'
import { InvitationLink, SignInLink } from '../../parts/one-time-link.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { SignIn, SignUp } from '../../parts/sign-in.tsx'
import { Empty, Waiting } from '../../parts/state.tsx'
import { pathOf } from '../account-path.ts'
import { lastAccount, loadMe, me } from '../me.ts'
import { ownPath, signInPath } from '../own-path.ts'
import { MeFailed, ToSignIn } from './account.tsx'
import { Missing } from './missing.tsx'

const ROOT = '/cabinet'

/** Leads on to the keys of the account that was looked at last, else of the first. */
export const Entered = () => {
  const { route } = useLocation()
  const { value, state } = me.value
  const first = value?.accounts.find(({ id }) => id === lastAccount()) ?? value?.accounts[0]
  useEffect(() => {
    if (first !== undefined) route(pathOf(first.id), true)
  }, [first])
  if (value === undefined && state === 'failed') return <MeFailed />
  if (value === undefined || first !== undefined) return <Waiting />
  if (value.person === null) return <ToSignIn />
  return (
    <>
      <PageHead title="Cabinet" />
      {value.is_complete ? (
        <Empty title="You are in no account.">
          <p>Ask the operator of this gateway for an invitation.</p>
        </Empty>
      ) : (
        <Empty title="Your account is being made.">
          <button
            type="button"
            onClick={() => {
              loadMe().catch(() => undefined)
            }}
          >
            Look again
          </button>
        </Empty>
      )}
    </>
  )
}

/** After a sign-in: loads the person, then leads to the page that was asked for. */
function useEntering(to: string): () => void {
  const enter = useEnteringAt()
  return () => enter(to)
}

function useEnteringAt(): (to: string) => void {
  const { route } = useLocation()
  return (to) => {
    loadMe().then(
      () => route(to, true),
      () => undefined,
    )
  }
}

export const SignInPage = () => {
  const { query } = useLocation()
  const entered = useEntering(ownPath(query['to'], location.origin))
  const { value } = me.value
  if (value === undefined) return me.value.state === 'failed' ? <MeFailed /> : <Waiting />
  const offered = { passkey: value.ways.passkey, mail: value.ways.mail, signUp: value.sign_up === 'open' }
  return <SignIn root={ROOT} title="Sign in" offered={offered} entered={entered} />
}

export const SignUpPage = () => {
  const entered = useEntering(ROOT)
  const { value } = me.value
  if (value === undefined) return <Waiting />
  if (value.sign_up !== 'open') return <Missing />
  return value.ways.mail ? <ByMail root={ROOT} way="signUp" /> : <SignUp root={ROOT} entered={entered} />
}

export const LinkPage = () => {
  const { params } = useRoute()
  return <SignInLink root={ROOT} token={params['token'] ?? ''} entered={useEntering(ROOT)} />
}

export const InvitePage = () => {
  const { params } = useRoute()
  const { path } = useLocation()
  const enter = useEnteringAt()
  const entered = (accountId: string | null): void => enter(accountId === null ? ROOT : pathOf(accountId))
  return <InvitationLink root={ROOT} token={params['token'] ?? ''} entered={entered} signIn={signInPath(path)} />
}

export const ForgotPage = () => <ByMail root={ROOT} way="newPassword" />
export const MailLinkPage = () => <ByMail root={ROOT} way="signIn" />

export const ResetPage = () => {
  const { params } = useRoute()
  return <ResetPassword root={ROOT} token={params['token'] ?? ''} />
}
