/** The person who looks at the cabinet, and this person's accounts. */

import type { Got } from '../parts/ask.ts'
import { whoLooks } from '../parts/who-looks.ts'
import { api } from './api.ts'

export type Me = Got<typeof api.me.get>
export type Account = Readonly<{ id: string; name: string; role: 'owner' | 'reader' }>

export const { me, loadMe, signOut } = whoLooks('/cabinet', () => api.me.get())

/** An account without a name is shown by its id. */
export const titleOf = ({ id, name }: Pick<Account, 'id' | 'name'>): string => (name === '' ? id : name)

const LAST = 'tollgate-account'

/** The account that this browser looked at last; a browser that keeps nothing has none. */
export function lastAccount(): string | null {
  try {
    return localStorage.getItem(LAST)
  } catch {
    return null
  }
}

export function rememberAccount(id: string): void {
  try {
    localStorage.setItem(LAST, id)
  } catch {
    // The way in then leads to the first account.
  }
}
