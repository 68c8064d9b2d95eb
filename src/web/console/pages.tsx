/** The console's pages for operators, in the order of the bar: each line makes a page and its link. A page that is reached from another has no link. */

import type { ComponentType } from 'preact'
import { AccountPage } from './pages/account.tsx'
import { AccountsPage } from './pages/accounts.tsx'
import { AuditPage } from './pages/audit.tsx'
import { CatalogPage } from './pages/catalog.tsx'
import { CodeBatchPage } from './pages/code-batch.tsx'
import { CodesPage } from './pages/codes.tsx'
import { ExplorePage } from './pages/explore.tsx'
import { KeysPage } from './pages/keys.tsx'
import { MarginPage } from './pages/margin.tsx'
import { NowPage } from './pages/now.tsx'
import { PeoplePage } from './pages/people.tsx'
import { RequestPage } from './pages/request.tsx'
import { RequestsPage } from './pages/requests.tsx'
import { TokensPage } from './pages/tokens.tsx'
import { UpstreamsPage } from './pages/upstreams.tsx'

type Page = Readonly<{ path: string; title: string; page: ComponentType }>

export const PAGES: readonly Page[] = [
  { path: '/console', title: 'Overview', page: NowPage },
  { path: '/console/accounts', title: 'Accounts', page: AccountsPage },
  { path: '/console/keys', title: 'Keys', page: KeysPage },
  { path: '/console/requests', title: 'Requests', page: RequestsPage },
  { path: '/console/explore', title: 'Explore', page: ExplorePage },
  { path: '/console/margin', title: 'Margin', page: MarginPage },
  { path: '/console/codes', title: 'Codes', page: CodesPage },
  { path: '/console/people', title: 'People', page: PeoplePage },
  { path: '/console/tokens', title: 'Tokens', page: TokensPage },
  { path: '/console/upstreams', title: 'Upstreams', page: UpstreamsPage },
  { path: '/console/catalog', title: 'Catalog', page: CatalogPage },
  { path: '/console/audit', title: 'Audit', page: AuditPage },
]

export const INNER: readonly Omit<Page, 'title'>[] = [
  { path: '/console/accounts/:accountId', page: AccountPage },
  { path: '/console/requests/:requestId', page: RequestPage },
  { path: '/console/codes/:batch', page: CodeBatchPage },
]
