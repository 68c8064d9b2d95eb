/** Where an account's pages are, and what each is given. */

import type { Account } from './me.ts'

export type AccountPageProps = Readonly<{ account: Account }>

/** `/cabinet/a/{account}/{slug}`. */
export const pathOf = (accountId: string, slug = 'keys'): string => `/cabinet/a/${encodeURIComponent(accountId)}/${slug}`
