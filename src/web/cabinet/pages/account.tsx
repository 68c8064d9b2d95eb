/** A page of an account for its members: without a session it leads to the sign-in and back; an account of others does not exist. */

import { useEffect } from 'preact/hooks'
import { useLocation, useRoute } from 'preact-iso/router'
import { Failed, Waiting } from '../../parts/state.tsx'
import { ACCOUNT_PAGES } from '../account-pages.ts'
import { loadMe, me, rememberAccount } from '../me.ts'
import { signInPath } from '../own-path.ts'
import { Missing } from './missing.tsx'

export const AccountPage = () => {
  const { params } = useRoute()
  const { value, state } = me.value
  if (value === undefined) return state === 'failed' ? <MeFailed /> : <Waiting />
  if (value.person === null) return <ToSignIn />
  const account = value.accounts.find(({ id }) => id === params['accountId'])
  const found = ACCOUNT_PAGES.find(({ slug }) => slug === params['slug'])
  if (account === undefined || found === undefined) return <Missing />
  rememberAccount(account.id)
  const Page = found.page
  return <Page key={account.id} account={account} />
}

export const MeFailed = () =>
  me.value.state === 'failed' ? (
    <Failed
      message={me.value.failure.message}
      again={() => {
        loadMe().catch(() => undefined)
      }}
    />
  ) : null

/** Leads to the sign-in, which leads back to this address. */
export const ToSignIn = () => {
  const { url, route } = useLocation()
  useEffect(() => route(signInPath(url), true), [])
  return <Waiting />
}
