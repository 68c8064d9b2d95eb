/** The spend of an account by day or hour, for the page and as a file, and its signed statement. Rules: pages.md "Spend". */

import { Elysia, type Static } from 'elysia'
import { dayAt, dayText } from '../../core/utc.ts'
import type { SpendRow } from '../../ledger/reading/account-reports.ts'
import { wholeSpend } from '../../ledger/reading/spend.ts'
import { statementStream } from '../../ledger/reading/statement-stream.ts'
import type { Site } from '../site.ts'
import { missing } from './answers.ts'
import { callerMacro } from './caller.ts'
import { CSV, download, refuseForeign } from './download.ts'
import { type SpendOf, spendCsv, spendDocument } from './spend-document.ts'
import { daysOf, SPEND_QUERY, STATEMENT_QUERY, spanOf, thingsOf } from './spend-query.ts'
import { refuseUnread } from './unread.ts'

type Query = Static<typeof SPEND_QUERY>

/** Reads the spend of an account. A range of one day is read by hour. A `Response` says why it cannot be read. */
export function spendReader({ reports, clock }: Site['world']) {
  return async (client: string, accountId: string, query: Query): Promise<{ rows: readonly SpendRow[]; of: SpendOf } | Response> => {
    const days = daysOf(query, clock.now())
    if (days instanceof Response) return days
    const of = { ...days, by: query.by, isByHour: days.fromDay === days.toDay }
    const asked = { accountId, by: query.by, ...thingsOf(query), ...(query.tag === undefined ? {} : { tag: query.tag }) }
    const rows = await wholeSpend(
      reports,
      client,
      of.isByHour ? { kind: 'spendHours', ...asked, day: days.toDay } : { kind: 'spend', ...asked, ...days },
    )
    if (rows === undefined) return missing()
    return typeof rows === 'string' ? refuseUnread(rows) : { rows, of }
  }
}

export function spendRoutes({ world, people }: Pick<Site, 'world' | 'people'>) {
  const { reports, clock } = world
  const spendOf = spendReader(world)
  return new Elysia({ name: 'spend', prefix: '/cabinet/api/accounts/:accountId' })
    .use(callerMacro(people, 'cabinet'))
    .onBeforeHandle(({ set }) => {
      set.headers['cache-control'] = 'no-store'
    })
    .get(
      '/spend',
      async ({ caller, params: { accountId }, query }) => {
        const client = `person:${caller.person.id}`
        const found = await spendOf(client, accountId, query)
        if (found instanceof Response) return found
        const key = query.key === undefined ? undefined : await reports.ask(client, { kind: 'accountKey', accountId, keyId: query.key })
        if (typeof key === 'string') return refuseUnread(key)
        return { ...spendDocument(found.rows, found.of), key_name: key?.name ?? null }
      },
      { member: 'reader', query: SPEND_QUERY },
    )
    .get(
      '/spend.csv',
      async ({ caller, params: { accountId }, query, request }) => {
        const foreign = refuseForeign(request)
        if (foreign !== undefined) return foreign
        const found = await spendOf(`person:${caller.person.id}`, accountId, query)
        if (found instanceof Response) return found
        const { fromDay, toDay, by } = found.of
        return download(spendCsv(found.rows), CSV, `spend-by-${by}-${dayText(fromDay)}-${dayText(toDay)}.csv`)
      },
      { member: 'reader', query: SPEND_QUERY },
    )
    .get(
      '/statement',
      async ({ caller, params: { accountId }, query, request }) => {
        const foreign = refuseForeign(request)
        if (foreign !== undefined) return foreign
        const span = spanOf(query)
        if (span instanceof Response) return span
        const madeAt = clock.now()
        const statement = await statementStream(reports, `person:${caller.person.id}`, { kind: 'statement', accountId, ...span, madeAt })
        if (statement === undefined) return missing()
        if (typeof statement === 'string') return refuseUnread(statement)
        return download(statement, 'application/jsonl', `statement-${dayText(dayAt(madeAt))}.jsonl`)
      },
      { member: 'owner', query: STATEMENT_QUERY },
    )
}
