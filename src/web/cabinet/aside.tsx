/** The end of the bar: the choice among a person's accounts, and the person's own menu. */

import { useLocation } from 'preact-iso/router'
import { Menu } from '../parts/menu.tsx'
import { pathOf } from './account-path.ts'
import { type Account, type Me, signOut, titleOf } from './me.ts'
import { signInPath } from './own-path.ts'

export const Aside = ({ me, account, path }: Readonly<{ me: Me | undefined; account: Account | undefined; path: string }>) => {
  if (me === undefined) return null
  if (me.person === null) return path.startsWith('/cabinet/sign-') ? null : <a href={signInPath(path)}>Sign in</a>
  return (
    <>
      <Accounts accounts={me.accounts} account={account} path={path} />
      <Menu label={<span class="cut">{me.person.email}</span>}>
        <a href="/cabinet/person">You and your sign-in</a>
        <a href="/cabinet/key">Look up a key</a>
        <button
          type="button"
          onClick={() => {
            signOut().catch(() => undefined)
          }}
        >
          Sign out
        </button>
      </Menu>
    </>
  )
}

const Accounts = ({ accounts, account, path }: Readonly<{ accounts: readonly Account[]; account: Account | undefined; path: string }>) => {
  const { route } = useLocation()
  if (account === undefined) return accounts[0] === undefined ? null : <a href={pathOf(accounts[0].id)}>{titleOf(accounts[0])}</a>
  if (accounts.length === 1) return <span class="cut">{titleOf(account)}</span>
  return (
    <select
      class="switch"
      aria-label="Account"
      value={account.id}
      onChange={({ currentTarget }) => route(pathOf(currentTarget.value, path.split('/')[4]))}
    >
      {accounts.map((one) => (
        <option key={one.id} value={one.id}>
          {titleOf(one)}
        </option>
      ))}
    </select>
  )
}
