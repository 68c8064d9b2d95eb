/**
 * The requests of an account, newest first: a page of them, one with the computation of its cost, all as a file. Customers see how often a provider was called
 * and how each call ended, never which provider it was. Rules: pages.md "Requests of an account"; requests.md "Usage".
 */

import { Elysia } from 'elysia'
import { isoTime } from '../../core/utc.ts'
import { csvStream, type MoreColumn } from '../../http/usage-csv.ts'
import { requestDetail, requestDocument } from '../../http/usage-documents.ts'
import type { AccountReceipt, OtherCall } from '../../ledger/reading/account-reports.ts'
import type { OrderedReceiptsQuery } from '../../ledger/reading/ordered-receipts.ts'
import type { Site } from '../site.ts'
import { missing, refuse } from './answers.ts'
import { callerMacro } from './caller.ts'
import { CSV, download, refuseForeign } from './download.ts'
import { orderedDocument, orderedReceipts } from './ordered-receipts.ts'
import { filtersOf, REQUESTS_FILE_QUERY, REQUESTS_QUERY } from './spend-query.ts'
import { refuseUnread } from './unread.ts'

const PAGE = 50
/** How many rows of a file are read at once: this takes some milliseconds, after which other readers have their turn. */
const FILE_PAGE = 200
const KEY_COLUMNS: readonly MoreColumn[] = [
  { name: 'key_id', of: ({ keyId }) => keyId },
  { name: 'key_name', of: ({ keyName }) => keyName },
]

export function requestRoutes({ world, people }: Pick<Site, 'world' | 'people'>) {
  const { reports } = world
  return new Elysia({ name: 'requests', prefix: '/cabinet/api/accounts/:accountId' })
    .use(callerMacro(people, 'cabinet'))
    .onBeforeHandle(({ set }) => {
      set.headers['cache-control'] = 'no-store'
    })
    .get(
      '/requests',
      async ({ caller, params: { accountId }, query: { after, limit, order, ...query } }) => {
        const filters = filtersOf(query)
        if (filters instanceof Response) return filters
        const client = `person:${caller.person.id}`
        const rows = Number(limit ?? PAGE)
        if (order !== undefined) {
          const wanted = { ...filters, order, limit: rows, ...(after === undefined ? {} : { after }) }
          const found = await inOrder(reports, { client, accountId }, wanted, world.clock.now())
          if (found === undefined) return missing()
          if (typeof found === 'string') return refuseUnread(found)
          return { data: found.rows.map(rowOf), next_cursor: found.next, looked_back_to: null, ordered: orderedDocument(found) }
        }
        const question = { kind: 'accountReceipts', accountId, limit: rows, ...filters } as const
        const page = await reports.ask(client, after === undefined ? question : { ...question, after })
        if (page === undefined) return missing()
        if (typeof page === 'string') return refuseUnread(page)
        const isShort = page.rows.length === 0 && page.next !== null
        const last = isShort ? await reports.ask(client, { kind: 'accountReceipt', accountId, requestId: page.next }) : undefined
        return {
          data: page.rows.map(rowOf),
          next_cursor: page.next,
          ordered: null,
          /** How far back the page looked, where it found nothing and older requests are left. */
          looked_back_to: typeof last === 'object' ? isoTime(last.receipt.settledAt) : null,
        }
      },
      { member: 'reader', query: REQUESTS_QUERY },
    )
    .get(
      '/requests/:requestId',
      async ({ caller, params: { accountId, requestId } }) => {
        const found = await reports.ask(`person:${caller.person.id}`, { kind: 'accountReceipt', accountId, requestId })
        if (found === undefined)
          return refuse(
            404,
            'No request of this account has this id. One that runs, was refused or failed before its answer began is not in the list',
          )
        if (typeof found === 'string') return refuseUnread(found)
        const { receipt, calls } = found
        return { ...requestDetail(receipt), ...keyOf(receipt), calls: calls.map(callDocument) }
      },
      { member: 'reader' },
    )
    .get(
      '/requests.csv',
      async ({ caller, params: { accountId }, query, request }) => {
        const foreign = refuseForeign(request)
        if (foreign !== undefined) return foreign
        const filters = filtersOf(query)
        if (filters instanceof Response) return filters
        const client = `person:${caller.person.id}`
        const question = { kind: 'accountReceipts', accountId, limit: FILE_PAGE, ...filters } as const
        const first = await reports.ask(client, question)
        if (first === undefined) return missing()
        if (typeof first === 'string') return refuseUnread(first)
        const next = async (after: string) => (await reports.ask(client, { ...question, after })) ?? 'unavailable'
        return download(csvStream(first, next, KEY_COLUMNS), CSV, 'requests.csv')
      },
      { member: 'reader', query: REQUESTS_FILE_QUERY },
    )
}

type InOrder = Omit<Parameters<typeof orderedReceipts>[1], 'of'> & Readonly<{ keyIds?: readonly string[] }>

/** In the order of a figure. Undefined also for a key that is none of this account's. */
async function inOrder(
  reports: Site['world']['reports'],
  { client, accountId }: Readonly<{ client: string; accountId: string }>,
  { keyIds, ...wanted }: InOrder,
  now: number,
) {
  const isOwn = keyIds === undefined || (await reports.ask(client, { kind: 'hasKeys', accountIds: [accountId], keyIds }))
  if (isOwn === false) return undefined
  if (isOwn !== true) return isOwn
  const ask = (query: OrderedReceiptsQuery) => reports.ask(client, { kind: 'orderedReceipts', ...query })
  return orderedReceipts(ask, { ...wanted, of: { accountIds: [accountId], keyIds } }, now)
}

const keyOf = ({ keyId, keyName }: Pick<AccountReceipt, 'keyId' | 'keyName'>) => ({ key_id: keyId, key_name: keyName })
const rowOf = (receipt: Parameters<typeof requestDocument>[0] & Pick<AccountReceipt, 'keyId' | 'keyName'>) => ({
  ...requestDocument(receipt),
  ...keyOf(receipt),
})

/** A call of a provider other than the call that was charged. */
const callDocument = ({ number, status, cause, startedAt, durationMs }: OtherCall) => ({
  number,
  status,
  cause,
  started_at: isoTime(startedAt),
  duration_ms: durationMs,
})
