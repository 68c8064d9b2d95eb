/** Entry of the console: which page stands at which address, and the frame around it. Without a session every address shows the sign-in, and continues there afterwards. */

import { Route, Router, useLocation } from 'preact-iso/router'
import { Shell } from '../parts/shell.tsx'
import { showPages, toContent } from '../parts/show-pages.tsx'
import { Aside } from './aside.tsx'
import { loadMe, me } from './me.ts'
import { ForgotPage, InvitePage, LinkPage, MailLinkPage, ResetPage, SignedIn } from './pages/entrance.tsx'
import { Missing } from './pages/missing.tsx'
import { PersonPage } from './pages/person.tsx'
import { INNER, PAGES } from './pages.tsx'

const Console = () => {
  const { path } = useLocation()
  const person = me.value.value?.person
  return (
    <Shell home="/console" name="Console" links={person ? PAGES : []} path={path} aside={<Aside person={person} />}>
      <Router onRouteChange={toContent}>
        {[...PAGES, ...INNER].map((one) => (
          <Route key={one.path} path={one.path} component={pageOf(one.page)} />
        ))}
        <Route path="/console/person" component={pageOf(PersonPage)} />
        <Route path="/console/link/:token" component={LinkPage} />
        <Route path="/console/invite/:token" component={InvitePage} />
        <Route path="/console/forgot" component={ForgotPage} />
        <Route path="/console/mail-link" component={MailLinkPage} />
        <Route path="/console/reset/:token" component={ResetPage} />
        <Route default component={pageOf(Missing)} />
      </Router>
    </Shell>
  )
}

/** Made once a page: a new component at every look would lose its state. */
const guarded = new Map<(typeof PAGES)[number]['page'], () => ReturnType<typeof SignedIn>>()
function pageOf(Page: (typeof PAGES)[number]['page']) {
  const known = guarded.get(Page)
  if (known !== undefined) return known
  const made = () => (
    <SignedIn>
      <Page />
    </SignedIn>
  )
  guarded.set(Page, made)
  return made
}

loadMe().catch(() => undefined)
showPages('/console', Console)
