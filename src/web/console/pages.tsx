/** The console's pages for operators, in the order of the bar: one line makes a page and its way. */

import type { ComponentType } from 'preact'
import { CatalogPage } from './pages/catalog.tsx'
import { NowPage } from './pages/now.tsx'
import { UpstreamsPage } from './pages/upstreams.tsx'

type Page = Readonly<{ path: string; title: string; page: ComponentType }>

export const PAGES: readonly Page[] = [
  { path: '/console', title: 'Now', page: NowPage },
  { path: '/console/upstreams', title: 'Upstreams', page: UpstreamsPage },
  { path: '/console/catalog', title: 'Catalog', page: CatalogPage },
]
