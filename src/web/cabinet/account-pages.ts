/** The pages of an account, in the order of the ways through them. A page that is added here is shown. */

import type { ComponentType } from 'preact'
import type { AccountPageProps } from './account-path.ts'
import { Keys } from './pages/keys.tsx'

export const ACCOUNT_PAGES: readonly Readonly<{ slug: string; title: string; page: ComponentType<AccountPageProps> }>[] = [
  { slug: 'keys', title: 'Keys', page: Keys },
]
