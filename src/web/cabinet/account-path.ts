/** The paths of an account's pages, and the properties that each page gets. */

import type { Account } from './me.ts'

export type AccountPageProps = Readonly<{ account: Account }>

/** The path `/cabinet/a/{account}/{slug}`. */
export const pathOf = (accountId: string, slug = 'keys'): string => `/cabinet/a/${encodeURIComponent(accountId)}/${slug}`
