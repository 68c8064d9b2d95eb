/** The requests of an account's pages of spend and of requests. */

import type { Got } from '../parts/ask.ts'
import { api } from './api.ts'
import type { SpendView } from './spend-view.ts'

const of = (accountId: string) => api.accounts({ accountId })
export const spendApi = {
  spend: (accountId: string, { from, to, by, key, model, tag }: SpendView) => {
    const filters = Object.entries({ key, model, tag }).filter(([, value]) => value !== undefined)
    return of(accountId).spend.get({ query: { from, to, by, ...Object.fromEntries(filters) } })
  },
  summary: (accountId: string) => of(accountId).summary.get(),
  requests: (accountId: string, query: RequestsQuery) => of(accountId).requests.get({ query: query as never }),
  request: (accountId: string, requestId: string) => of(accountId).requests({ requestId }).get(),
}

type RequestsQuery = Readonly<
  Partial<Record<'key' | 'model' | 'tag' | 'outcome' | 'from' | 'to' | 'after' | 'limit', string>> & { order?: string }
>

export type Spend = Got<typeof spendApi.spend>
export type Summary = Got<typeof spendApi.summary>

/** The path of a file of the account. */
export const filePath = (accountId: string, name: 'spend.csv' | 'requests.csv' | 'statement', search: string): string =>
  `/cabinet/api/accounts/${encodeURIComponent(accountId)}/${name}${search}`
