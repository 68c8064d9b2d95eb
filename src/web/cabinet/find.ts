/** Where a thing that was found stands in the cabinet of its account. */

import type { FoundThing } from '../api/find.ts'
import { idsText } from '../parts/explore-view.ts'
import { pathOf } from './account-path.ts'
import { api } from './api.ts'

export const lookInAccount = (accountId: string) => (q: string) => api.accounts({ accountId }).find.get({ query: { q } })

export function pathInAccount(accountId: string, { kind, id }: FoundThing): string {
  const param = { key: 'key', request: 'request', model: 'model', person: undefined, account: undefined }[kind]
  return param === undefined
    ? pathOf(accountId, 'members')
    : `${pathOf(accountId, 'requests')}?${new URLSearchParams({ [param]: kind === 'model' ? idsText([id]) : id })}`
}
