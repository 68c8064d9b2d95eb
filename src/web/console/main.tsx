/** Entry of the console: the page of each address, and the frame around it. Without a session every address shows the sign-in, and continues there afterwards. */

import { Route, Router, useLocation } from 'preact-iso/router'
import { Find } from '../parts/find.tsx'
import { Menu } from '../parts/menu.tsx'
import { PageHead, Shell } from '../parts/shell.tsx'
import { showPages, toContent } from '../parts/show-pages.tsx'
import { Empty } from '../parts/state.tsx'
import { lookInConsole, pathInConsole } from './find.ts'
import { loadMe, me, signOut } from './me.ts'
import { ForgotPage, InvitePage, LinkPage, MailLinkPage, ResetPage, SignedIn } from './pages/entrance.tsx'
import { PersonPage } from './pages/person.tsx'
import { INNER, PAGES } from './pages.tsx'

const Console = () => {
  const { path } = useLocation()
  const person = me.value.value?.person
  return (
    <Shell
      home="/console"
      name="Console"
      links={person ? PAGES : []}
      path={path}
      find={
        person ? <Find label="Search accounts, keys, people, requests and models" look={lookInConsole} pathOf={pathInConsole} /> : undefined
      }
      aside={<Aside person={person} />}
    >
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

/** The end of the bar: the menu of an operator's own sign-in. */
const Aside = ({ person }: Readonly<{ person: Readonly<{ email: string }> | null | undefined }>) =>
  person === null || person === undefined ? null : (
    <Menu label={<span class="cut">{person.email}</span>}>
      <a href="/console/person">You and your sign-in</a>
      <a href="/docs/operate">How to operate</a>
      <button
        type="button"
        onClick={() => {
          signOut().catch(() => undefined)
        }}
      >
        Sign out
      </button>
    </Menu>
  )

/** The page of an address that has no other. */
const Missing = () => (
  <>
    <PageHead title="Page not found" />
    <Empty title="There is nothing at this address.">
      <a href="/console">To the console’s first page</a>
    </Empty>
  </>
)

/** The component of each page, which is made once: a new component at every render would lose its state. */
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
