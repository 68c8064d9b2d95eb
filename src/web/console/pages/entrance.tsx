/** The console's ways in. There is no signing up: operators are invited. */

import type { ComponentChildren } from 'preact'
import { useLocation, useRoute } from 'preact-iso/router'
import { ByMail } from '../../parts/by-mail.tsx'
import { ResetPassword } from '../../parts/new-password.tsx'
import { InvitationLink, SignInLink } from '../../parts/one-time-link.tsx'
import { SignIn } from '../../parts/sign-in.tsx'
import { Failed, Waiting } from '../../parts/state.tsx'
import { loadMe, me } from '../me.ts'

const ROOT = '/console'

const look = (): void => {
  loadMe().catch(() => undefined)
}

/** Shows a page to operators, and the sign-in to others. */
export const SignedIn = ({ children }: Readonly<{ children: ComponentChildren }>) => {
  const loaded = me.value
  if (loaded.value === undefined) return loaded.state === 'failed' ? <Failed message={loaded.failure.message} again={look} /> : <Waiting />
  const { person, ways } = loaded.value
  if (person !== null) return <>{children}</>
  const offered = { passkey: ways.passkey, mail: ways.mail, signUp: false }
  return <SignIn root={ROOT} title="Console" lede="For operators of this gateway." offered={offered} entered={look} />
}

/** After a link: loads the operator, then leads to the first page. */
function useEntering(): () => void {
  const { route } = useLocation()
  return () => {
    loadMe().then(
      () => route(ROOT, true),
      () => undefined,
    )
  }
}

export const LinkPage = () => <SignInLink root={ROOT} token={useRoute().params['token'] ?? ''} entered={useEntering()} />
export const InvitePage = () => (
  <InvitationLink root={ROOT} token={useRoute().params['token'] ?? ''} entered={useEntering()} signIn={ROOT} />
)
export const ForgotPage = () => <ByMail root={ROOT} way="newPassword" />
export const MailLinkPage = () => <ByMail root={ROOT} way="signIn" />
export const ResetPage = () => <ResetPassword root={ROOT} token={useRoute().params['token'] ?? ''} />
