/** What the pages of spend and requests ask of one account. */

import { api } from './api.ts'
import type { SpendView } from './spend-view.ts'

const of = (accountId: string) => api.accounts({ accountId })
const get = {
  spend: (accountId: string, { from, to, by, key, model }: SpendView) =>
    of(accountId).spend.get({ query: { from, to, by, ...(key === undefined ? {} : { key }), ...(model === undefined ? {} : { model }) } }),
  summary: (accountId: string) => of(accountId).summary.get(),
  requests: (accountId: string, query: RequestsQuery) => of(accountId).requests.get({ query }),
  request: (accountId: string, requestId: string) => of(accountId).requests({ requestId }).get(),
}
export const spendApi = get

type RequestsQuery = Readonly<Partial<Record<'key' | 'model' | 'outcome' | 'from' | 'to' | 'after' | 'limit', string>>>

type DataOf<Ask extends (...args: never[]) => PromiseLike<{ data: unknown }>> = Exclude<
  NonNullable<Awaited<ReturnType<Ask>>['data']>,
  Response
>
export type Spend = DataOf<typeof get.spend>
export type Summary = DataOf<typeof get.summary>

/** Where a file of the account is. */
export const filePath = (accountId: string, name: 'spend.csv' | 'requests.csv' | 'statement', search: string): string =>
  `/cabinet/api/accounts/${encodeURIComponent(accountId)}/${name}${search}`

/** A key without a name is shown by its id. */
export const keyTitle = ({ id, name }: Readonly<{ id: string; name: string }>): string => (name === '' ? id : name)
