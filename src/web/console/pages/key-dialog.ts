/** What dialogs about a key are given. Rules: pages.md "Acts of operators". */

import type { Got } from '../../parts/ask.ts'
import type { api } from '../api.ts'

type Listed = Got<typeof api.keys.get>['data'][number]
/** A key without its account, as the list of one account has it, or with it. */
export type Key = Omit<Listed, 'account_id' | 'account_name'> & Partial<Pick<Listed, 'account_id' | 'account_name'>>

export type KeyDialogOptions = Readonly<{ keyOf: Key; close: () => void; changed: () => void }>

export const titleOf = ({ name, display }: Key): string => (name === '' ? display : name)
