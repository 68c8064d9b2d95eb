/** An account's summary: its balance, the part that is held and by which requests, and how long the balance lasts, and what changed this week. Rules: pages.md "Spend"; money.md "Runway". */

import { Elysia } from 'elysia'
import { sumPicos, toExactUsdText } from '../../core/money.ts'
import { runwayOf } from '../../core/runway.ts'
import { dayAt, isoTime } from '../../core/utc.ts'
import type { Hold } from '../../ledger/ledger.ts'
import { wholeSpend } from '../../ledger/reading/spend.ts'
import type { Site } from '../site.ts'
import { missing } from './answers.ts'
import { callerMacro } from './caller.ts'
import { type Running, runningOf } from './running.ts'
import { refuseUnread } from './unread.ts'
import { WEEK_DAYS, weeksOf } from './weeks.ts'

const RUNWAY_DAYS = 7

/** Reads the summary of an account. `client`: in whose name it is read. A `Response` says why it cannot be read. */
export function summaryReader({ world }: Pick<Site, 'world'>, running: Running) {
  const { reports, clock } = world

  /** The names of keys, read one after the other, so that a page asks one question at a time. A key that cannot be read at this moment has no name. */
  const namesOf = async (client: string, accountId: string, keyIds: ReadonlySet<string>): Promise<ReadonlyMap<string, string>> => {
    const names = new Map<string, string>()
    for (const keyId of keyIds) {
      const key = await reports.ask(client, { kind: 'accountKey', accountId, keyId })
      if (typeof key === 'object') names.set(keyId, key.name)
    }
    return names
  }

  return async (client: string, accountId: string) => {
    const account = await reports.ask(client, { kind: 'account', accountId })
    if (account === undefined) return missing()
    if (typeof account === 'string') return refuseUnread(account)
    const toDay = dayAt(clock.now())
    const days = { fromDay: toDay - 2 * WEEK_DAYS, toDay }
    const spent = await wholeSpend(reports, client, { kind: 'spend', accountId, by: 'model', ...days })
    if (spent === undefined) return missing()
    if (typeof spent === 'string') return refuseUnread(spent)
    const costOf = (day: number) => sumPicos(...spent.filter((row) => row.day === day).map(({ costPicos }) => costPicos))
    const past = Array.from({ length: RUNWAY_DAYS }, (_, n) => costOf(toDay - 1 - n))
    const { days: lasts, aDayPicos } = runwayOf(account.balancePicos, past, costOf(toDay))
    const weeks = weeksOf(spent, toDay)
    const held = running.heldOf(accountId)
    const shown = await running.oldestOf(accountId)
    const names = await namesOf(client, accountId, new Set(shown.map(({ keyId }) => keyId)))
    return {
      balance_usd: toExactUsdText(account.balancePicos),
      is_active: account.isActive,
      held_usd: toExactUsdText(held.amountPicos),
      holds: shown.map((hold) => holdDocument(hold, names.get(hold.keyId) ?? '')),
      running_requests: held.count,
      runway_days: lasts,
      a_day_usd: toExactUsdText(aDayPicos),
      ...weeks,
    }
  }
}

export function summaryRoutes({ people, ...site }: Pick<Site, 'world' | 'people' | 'moment' | 'holdsOf'>) {
  const summary = summaryReader(site, runningOf(site))
  return new Elysia({ name: 'summary', prefix: '/cabinet/api/accounts/:accountId/summary' })
    .use(callerMacro(people, 'cabinet'))
    .onBeforeHandle(({ set }) => {
      set.headers['cache-control'] = 'no-store'
    })
    .get('', ({ caller, params: { accountId } }) => summary(`person:${caller.person.id}`, accountId), { member: 'reader' })
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
