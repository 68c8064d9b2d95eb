/** What an account spent and has: by day or hour for the page and as a file, its balance with what is held and how long it lasts, its signed statement. Rules: pages.md "Spend"; money.md "Runway". */

import { Elysia, type Static } from 'elysia'
import { sumPicos, toExactUsdText, ZERO } from '../../core/money.ts'
import { runwayOf } from '../../core/runway.ts'
import { dayAt, dayText, isoTime } from '../../core/utc.ts'
import type { SpendRow } from '../../ledger/account-reports.ts'
import type { Hold } from '../../ledger/ledger.ts'
import { wholeSpend } from '../../ledger/spend.ts'
import { statementStream } from '../../ledger/statement-stream.ts'
import type { Site } from '../site.ts'
import { missing } from './answers.ts'
import { callerMacro } from './caller.ts'
import { CSV, download, refuseForeign } from './download.ts'
import { runningOf } from './running.ts'
import { type SpendOf, spendCsv, spendDocument } from './spend-document.ts'
import { daysOf, SPEND_QUERY, STATEMENT_QUERY, spanOf, thingsOf } from './spend-query.ts'
import { refuseUnread } from './unread.ts'

const RUNWAY_DAYS = 7
/** Of what is held. */
const HOLDS_SHOWN = 50

type Query = Static<typeof SPEND_QUERY>

export function spendRoutes({ world, people }: Pick<Site, 'world' | 'people'>) {
  const { ledger, reports, clock } = world
  const running = runningOf(ledger, clock.monotonicMs)

  /** One day is shown by hour. */
  const spendOf = async (
    client: string,
    accountId: string,
    query: Query,
  ): Promise<{ rows: readonly SpendRow[]; of: SpendOf } | Response> => {
    const days = daysOf(query, clock.now())
    if (days instanceof Response) return days
    const of = { ...days, by: query.by, isByHour: days.fromDay === days.toDay }
    const asked = { accountId, by: query.by, ...thingsOf(query) }
    const rows = await wholeSpend(
      reports,
      client,
      of.isByHour ? { kind: 'spendHours', ...asked, day: days.toDay } : { kind: 'spend', ...asked, ...days },
    )
    if (rows === undefined) return missing()
    return typeof rows === 'string' ? refuseUnread(rows) : { rows, of }
  }

  /** One after the other, so that one page is one question at a time. Without a name is what cannot be read at this moment. */
  const namesOf = async (client: string, accountId: string, keyIds: ReadonlySet<string>): Promise<ReadonlyMap<string, string>> => {
    const names = new Map<string, string>()
    for (const keyId of keyIds) {
      const key = await reports.ask(client, { kind: 'accountKey', accountId, keyId })
      if (typeof key === 'object') names.set(keyId, key.name)
    }
    return names
  }

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
      '/summary',
      async ({ caller, params: { accountId } }) => {
        const client = `person:${caller.person.id}`
        const account = await reports.ask(client, { kind: 'account', accountId })
        if (account === undefined) return missing()
        if (typeof account === 'string') return refuseUnread(account)
        const toDay = dayAt(clock.now())
        const days = { fromDay: toDay - RUNWAY_DAYS, toDay }
        const spent = await wholeSpend(reports, client, { kind: 'spend', accountId, by: 'day', ...days })
        if (spent === undefined) return missing()
        if (typeof spent === 'string') return refuseUnread(spent)
        const costOf = (day: number) => sumPicos(...spent.filter((row) => row.day === day).map(({ costPicos }) => costPicos))
        const past = Array.from({ length: RUNWAY_DAYS }, (_, n) => costOf(toDay - 1 - n))
        const { days: lasts, aDayPicos } = runwayOf(account.balancePicos, past, costOf(toDay))
        const holds = running.holdsOf(accountId)
        const shown = holds.slice(0, HOLDS_SHOWN)
        const names = await namesOf(client, accountId, new Set(shown.map(({ keyId }) => keyId)))
        return {
          balance_usd: toExactUsdText(account.balancePicos),
          is_active: account.isActive,
          held_usd: toExactUsdText(sumPicos(ZERO, ...holds.map(({ amountPicos }) => amountPicos))),
          holds: shown.map((hold) => holdDocument(hold, names.get(hold.keyId) ?? '')),
          running_requests: holds.length,
          runway_days: lasts,
          a_day_usd: toExactUsdText(aDayPicos),
        }
      },
      { member: 'reader' },
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

const holdDocument = ({ requestId, keyId, modelId, amountPicos, startedAt, isStream }: Hold, keyName: string) => ({
  request_id: requestId,
  key_id: keyId,
  key_name: keyName,
  model: modelId,
  stream: isStream,
  held_usd: toExactUsdText(amountPicos),
  started_at: isoTime(startedAt),
})
