/** The console's pages for operators, in the order of the bar: each line makes a page and its link. A page that is reached from another has no link. */

import type { ComponentType } from 'preact'
import type { PageLink } from '../parts/shell.tsx'
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

type Page = PageLink & Readonly<{ page: ComponentType }>

export const PAGES: readonly Page[] = [
  { path: '/console', title: 'Overview', page: NowPage },
  { path: '/console/accounts', title: 'Accounts', group: 'Customers', page: AccountsPage },
  { path: '/console/keys', title: 'Keys', group: 'Customers', page: KeysPage },
  { path: '/console/requests', title: 'Requests', group: 'Customers', page: RequestsPage },
  { path: '/console/explore', title: 'Explore', group: 'Money', page: ExplorePage },
  { path: '/console/margin', title: 'Margin', group: 'Money', page: MarginPage },
  { path: '/console/codes', title: 'Codes', group: 'Money', page: CodesPage },
  { path: '/console/people', title: 'People', group: 'Access', page: PeoplePage },
  { path: '/console/tokens', title: 'Tokens', group: 'Access', page: TokensPage },
  { path: '/console/audit', title: 'Audit', group: 'Access', page: AuditPage },
  { path: '/console/upstreams', title: 'Upstreams', group: 'Gateway', page: UpstreamsPage },
  { path: '/console/catalog', title: 'Catalog', group: 'Gateway', page: CatalogPage },
]

export const INNER: readonly Pick<Page, 'path' | 'page'>[] = [
  { path: '/console/accounts/:accountId', page: AccountPage },
  { path: '/console/requests/:requestId', page: RequestPage },
  { path: '/console/codes/:batch', page: CodeBatchPage },
]
