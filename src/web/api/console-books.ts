/** The books for operators: requests of all accounts, one request with its upstream calls, the audit log. Rules: operator.md "Lists", "Audit"; ledger.md "Reads". */

import { Elysia, t } from 'elysia'
import { edgeOf } from '../../core/utc.ts'
import { requestDetail } from '../../http/usage-documents.ts'
import type { ReceiptRow } from '../../ledger/columns/receipt.ts'
import { newId } from '../../ledger/operations/new-id.ts'
import { PLACE_CHARS_MAX } from '../../ledger/reading/list-place.ts'
import type { OrderedReceiptsQuery } from '../../ledger/reading/ordered-receipts.ts'
import type { ReceiptFilter, ReceiptsOf } from '../../ledger/reading/receipt-filter.ts'
import type { Site } from '../site.ts'
import { missing, refuse } from './answers.ts'
import { type Caller, callerMacro } from './caller.ts'
import { AFTER, type ConsoleActs, NO_STORE, oneOf } from './console-acts.ts'
import { attemptDocument, auditDocument, ofOperators, receiptDocument } from './console-documents.ts'
import { orderedDocument, orderedReceipts, RECEIPT_ORDER } from './ordered-receipts.ts'
import { REQUEST_LISTS, receiptFilterOf, values, valuesIn } from './value-lists.ts'

const PAGE = 50
const DATE = t.Optional(t.String({ maxLength: 40, description: 'A day or a time, such as 2026-11-30 or 2026-11-30T12:00:00Z' }))
const TEXT = t.Optional(t.String({ maxLength: 300 }))
const REQUESTS = t.Object({
  account_id: values('accounts'),
  key_id: values('keys'),
  upstream: values('upstreams'),
  ...REQUEST_LISTS,
  tag: TEXT,
  only: t.Optional(oneOf(['over hold', 'waived', 'estimated'], 'Over its hold, waived, or with estimated tokens')),
  from: DATE,
  to: DATE,
  order: RECEIPT_ORDER,
  after: t.Optional(t.String({ maxLength: PLACE_CHARS_MAX })),
})
const LISTS = ['account_id', 'key_id', 'upstream', 'model', 'outcome', 'format'] as const
const AUDIT = t.Object({ target: TEXT, actor: TEXT, action: TEXT, from: DATE, to: DATE, after: AFTER })

export function consoleBooks({ world, people }: Site, { ask }: ConsoleActs) {
  const { namesOf, named, inOrder } = receiptReads(ask, () => world.clock.now())
  return new Elysia({ name: 'console books', prefix: '/console/api' })
    .use(callerMacro(people, 'console'))
    .onBeforeHandle(({ set }) => {
      Object.assign(set.headers, NO_STORE)
    })
    .get('/form-id', () => ({ id: newId('crd', world.clock.now()).slice(4) }), { person: true })
    .get(
      '/requests',
      async ({ caller, query: { from, to, tag, only, order, after, ...lists } }) => {
        const range = rangeOf({ from, to })
        if (range instanceof Response) return range
        const listed = valuesIn(lists, LISTS)
        if (listed instanceof Response) return listed
        const of = given({ accountIds: listed.account_id, keyIds: listed.key_id })
        const kind = only === 'estimated' ? { usageSource: only } : { only }
        const question = { of, ...receiptFilterOf(listed), ...given({ tag, after, ...kind, ...range }) }
        if (order !== undefined) return inOrder(question, order, caller)
        const page = await ask<'allReceipts'>(caller, { kind: 'allReceipts', limit: PAGE, ...question })
        if (page === undefined) return missing()
        return page instanceof Response ? page : { data: await named(page.rows, caller), next_cursor: page.next, ordered: null }
      },
      { person: true, query: REQUESTS },
    )
    .get(
      '/requests/:requestId',
      async ({ caller, params: { requestId } }) => {
        const found = await ask<'anyReceipt'>(caller, { kind: 'anyReceipt', requestId })
        if (found === undefined) return missing()
        if (found instanceof Response) return found
        const { receipt, attempts } = found
        return {
          request_id: requestId,
          request:
            receipt === undefined
              ? null
              : {
                  ...requestDetail(receipt),
                  ...ofOperators(receipt),
                  account_name: (await namesOf([receipt], caller))[receipt.accountId] ?? '',
                },
          other_attempts: attempts.map(attemptDocument),
        }
      },
      { person: true },
    )
    .get(
      '/audit',
      async ({ caller, query: { target, actor, action, after, ...dates } }) => {
        const range = rangeOf(dates)
        if (range instanceof Response) return range
        if (after !== undefined && !/^\d{1,15}$/.test(after)) return missing()
        const page = await ask<'audit'>(caller, { kind: 'audit', limit: PAGE, ...given({ target, actor, action, after, ...range }) })
        return page instanceof Response ? page : { data: page.rows.map(auditDocument), next_cursor: page.next }
      },
      { person: true, query: AUDIT },
    )
}

type Filters = ReceiptFilter & Readonly<{ of: ReceiptsOf; only?: string; after?: string }> & Range

/** Receipts with the names of their accounts, and in the order of a figure. */
function receiptReads(ask: ConsoleActs['ask'], now: () => number) {
  /** Names that cannot be read at this moment are left out. */
  const namesOf = async (rows: readonly ReceiptRow[], caller: Caller): Promise<Readonly<Record<string, string>>> => {
    const accountIds = [...new Set(rows.map(({ accountId }) => accountId))]
    const names = await ask<'names'>(caller, { kind: 'names', accountIds, keyIds: [] })
    return names instanceof Response ? {} : names
  }
  const named = async (rows: readonly ReceiptRow[], caller: Caller) => {
    const names = await namesOf(rows, caller)
    return rows.map((row) => ({ ...receiptDocument(row), account_name: names[row.accountId] ?? '' }))
  }
  const inOrder = async ({ only, ...wanted }: Filters, order: NonNullable<(typeof REQUESTS)['static']['order']>, caller: Caller) => {
    if (only !== undefined)
      return refuse(400, 'Waived requests, and those over their hold, are in the order of time alone', { field: 'order' })
    const part = (query: OrderedReceiptsQuery) => ask<'orderedReceipts'>(caller, { kind: 'orderedReceipts', ...query })
    const found = await orderedReceipts(part, { ...wanted, order, limit: PAGE }, now())
    if (found === undefined) return missing()
    if (found instanceof Response) return found
    return { data: await named(found.rows, caller), next_cursor: found.next, ordered: orderedDocument(found) }
  }
  return { namesOf, named, inOrder }
}

type Range = Readonly<{ from?: number; to?: number }>

/** A range that ends with a day includes all of that day. */
function rangeOf({ from, to }: Readonly<{ from?: string | undefined; to?: string | undefined }>): Range | Response {
  const start = from === undefined || from === '' ? undefined : edgeOf(from, 'start')
  const end = to === undefined || to === '' ? undefined : edgeOf(to, 'end')
  const wrong = 'A day or a time, such as 2026-11-30 or 2026-11-30T12:00:00Z'
  if (start === undefined && (from ?? '') !== '') return refuse(400, wrong, { field: 'from' })
  if (end === undefined && (to ?? '') !== '') return refuse(400, wrong, { field: 'to' })
  return { ...(start === undefined ? {} : { from: start }), ...(end === undefined ? {} : { to: end }) }
}

/** Removes empty values: a form sends its empty inputs, too. */
function given<T extends object>(query: T): { [Field in keyof T]?: Exclude<T[Field], undefined> } {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined && value !== '')) as never
}
