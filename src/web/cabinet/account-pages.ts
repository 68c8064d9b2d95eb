/** The pages of an account, in the order of their links. A page that is added here is shown. */

import type { ComponentType } from 'preact'
import type { AccountPageProps } from './account-path.ts'
import { Alerts } from './pages/alerts.tsx'
import { Explore } from './pages/explore.tsx'
import { Keys } from './pages/keys.tsx'
import { Members } from './pages/members.tsx'
import { Requests } from './pages/requests.tsx'
import { Spend } from './pages/spend.tsx'
import { TopUp } from './pages/top-up.tsx'

export const ACCOUNT_PAGES: readonly Readonly<{ slug: string; title: string; page: ComponentType<AccountPageProps> }>[] = [
  { slug: 'keys', title: 'Keys', page: Keys },
  { slug: 'spend', title: 'Spend', page: Spend },
  { slug: 'explore', title: 'Explore', page: Explore },
  { slug: 'requests', title: 'Requests', page: Requests },
  { slug: 'top-up', title: 'Top up', page: TopUp },
  { slug: 'alerts', title: 'Alerts', page: Alerts },
  { slug: 'members', title: 'Members', page: Members },
]
