/** Entry of the cabinet: the page of each address, and the frame around it. Rules: pages.md "Ways through". */

import { Route, Router, useLocation } from 'preact-iso/router'
import { Find } from '../parts/find.tsx'
import { type PageLink, Shell } from '../parts/shell.tsx'
import { showPages, toContent } from '../parts/show-pages.tsx'
import { ACCOUNT_PAGES } from './account-pages.ts'
import { pathOf } from './account-path.ts'
import { Aside } from './aside.tsx'
import { lookInAccount, pathInAccount } from './find.ts'
import { loadMe, me } from './me.ts'
import { AccountPage } from './pages/account.tsx'
import { Entered, ForgotPage, InvitePage, LinkPage, MailLinkPage, ResetPage, SignInPage, SignUpPage } from './pages/entrance.tsx'
import { LookUpKey } from './pages/key.tsx'
import { Missing } from './pages/missing.tsx'
import { PersonPage } from './pages/person.tsx'

/** Pages of the guide, whose bar leads back. */
const GUIDE: readonly PageLink[] = [
  { path: '/docs/models', title: 'Prices' },
  { path: '/docs', title: 'Docs' },
]
const ACCOUNT = /^\/cabinet\/a\/([^/]+)/

const Cabinet = () => {
  const { path } = useLocation()
  const { value } = me.value
  const inPath = decodeURIComponent(ACCOUNT.exec(path)?.[1] ?? '')
  const account = value?.accounts.find(({ id }) => id === inPath)
  const links: readonly PageLink[] =
    account === undefined ? [] : [...ACCOUNT_PAGES.map(({ slug, title }) => ({ path: pathOf(account.id, slug), title })), ...GUIDE]
  return (
    <Shell
      home="/cabinet"
      name="Cabinet"
      links={links}
      path={path}
      find={account === undefined ? undefined : <FindInAccount key={account.id} accountId={account.id} />}
      aside={<Aside me={value} account={account} path={path} />}
    >
      <Router onRouteChange={toContent}>
        <Route path="/cabinet" component={Entered} />
        <Route path="/cabinet/a/:accountId/:slug" component={AccountPage} />
        <Route path="/cabinet/person" component={PersonPage} />
        <Route path="/cabinet/key" component={LookUpKey} />
        <Route path="/cabinet/sign-in" component={SignInPage} />
        <Route path="/cabinet/sign-up" component={SignUpPage} />
        <Route path="/cabinet/link/:token" component={LinkPage} />
        <Route path="/cabinet/invite/:token" component={InvitePage} />
        <Route path="/cabinet/forgot" component={ForgotPage} />
        <Route path="/cabinet/mail-link" component={MailLinkPage} />
        <Route path="/cabinet/reset/:token" component={ResetPage} />
        <Route default component={Missing} />
      </Router>
    </Shell>
  )
}

const FindInAccount = ({ accountId }: Readonly<{ accountId: string }>) => (
  <Find
    label="Search keys, requests, models and members"
    look={lookInAccount(accountId)}
    pathOf={(thing) => pathInAccount(accountId, thing)}
  />
)

loadMe().catch(() => undefined)
showPages('/cabinet', Cabinet)
