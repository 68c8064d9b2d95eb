/** What was used by what is asked, as a document and as a file: for operators of all accounts, for an account's people of their own. Rules: pages.md "Explore". */

import { Elysia, type Static } from 'elysia'
import { CUSTOMERS_DIMENSIONS, DIMENSIONS, isTrafficMeasure, TRAFFIC_MEASURES } from '../../core/explore.ts'
import { dayText } from '../../core/utc.ts'
import { byTime, CUSTOMERS_ROWS_MAX, type ExploredRow, ROWS_MAX, wholeExplored, wholeGroups } from '../../ledger/reading/explore.ts'
import { inTurns } from '../../ledger/reading/loop-turns.ts'
import type { Unread } from '../../ledger/reading/reports.ts'
import type { Site } from '../site.ts'
import { missing, refuse } from './answers.ts'
import { type Caller, callerMacro } from './caller.ts'
import { NO_STORE } from './console-acts.ts'
import { CSV, download } from './download.ts'
import { exploreCsv } from './explore-csv.ts'
import { exploreDocument } from './explore-document.ts'
import { clientOf, ExploreLines } from './explore-lines.ts'
import { EXPLORE_QUERY, type Explore, exploreOf } from './explore-query.ts'
import { askingTraffic } from './traffic.ts'
import { refuseUnread } from './unread.ts'

/** A question that its asker may ask. */
type Asked = Readonly<{ explore: Explore; whole: Parameters<typeof wholeExplored>[2]; isOperators: boolean }>

const TOO_MUCH = 'This makes more than 50,000 rows. Choose a longer step, fewer days or a filter'
const TOO_MUCH_FOR_CUSTOMERS = 'This makes more than 5,000 rows. Choose a shorter time, a longer step or fewer groups'

/** `accountId`: undefined for operators, who see all. */
async function askedOf(
  { world }: Site,
  caller: Caller,
  query: Static<typeof EXPLORE_QUERY>,
  accountId?: string,
): Promise<Asked | Response> {
  const isOperators = accountId === undefined
  const explore = isOperators
    ? exploreOf(query, world.clock.now(), DIMENSIONS, TRAFFIC_MEASURES)
    : exploreOf(query, world.clock.now(), CUSTOMERS_DIMENSIONS)
  if ('field' in explore) return refuse(400, explore.message, { field: explore.field })
  const { key: keyIds } = explore.asked.only
  const isOwn =
    isOperators || keyIds === undefined || (await world.reports.ask(clientOf(caller), { kind: 'hasKeys', accountIds: [accountId], keyIds }))
  if (isOwn === false) return missing()
  if (isOwn !== true) return refuseUnread(isOwn)
  const asked = isOperators ? explore.asked : { ...explore.asked, only: { ...explore.asked.only, account: [accountId] } }
  return { explore, whole: { query: asked, rowsMax: isOperators ? ROWS_MAX : CUSTOMERS_ROWS_MAX }, isOperators }
}

const refused = (why: 'tooMuch' | Unread, isOperators: boolean): Response =>
  why === 'tooMuch' ? refuse(400, isOperators ? TOO_MUCH : TOO_MUCH_FOR_CUSTOMERS, { field: 'step' }) : refuseUnread(why)

async function documentOf({ world }: Site, caller: Caller, asked: Asked | Response) {
  if (asked instanceof Response) return asked
  const { explore, whole, isOperators } = asked
  const groups = await wholeGroups(world.reports, clientOf(caller), { ...whole, measure: explore.measure })
  return typeof groups === 'string' ? refused(groups, isOperators) : inTurns(exploreDocument(groups, explore, isOperators))
}

type Found = Omit<Asked, 'whole'> & Readonly<{ rows: readonly ExploredRow[] }>

async function rowsByTime({ world }: Site, caller: Caller, asked: Asked | Response): Promise<Found | Response> {
  if (asked instanceof Response) return asked
  const { whole, ...known } = asked
  const rows = await wholeExplored(world.reports, clientOf(caller), whole)
  return typeof rows === 'string' ? refused(rows, known.isOperators) : { ...known, rows: await inTurns(byTime(rows)) }
}

function fileOf({ rows, explore, isOperators }: Found, onEnd: () => void): Response {
  const name = `explore-${dayText(explore.fromDay)}-${dayText(explore.toDay)}.csv`
  return download(exploreCsv(rows, explore, { isOperators, onEnd }), CSV, name)
}

const asking = (site: Site, lines: ExploreLines) => ({
  document: (caller: Caller, query: Static<typeof EXPLORE_QUERY>, accountId?: string) =>
    lines.run(caller, async () => documentOf(site, caller, await askedOf(site, caller, query, accountId))),
  file: (request: Request, caller: Caller, query: Static<typeof EXPLORE_QUERY>, accountId?: string) =>
    lines.file({
      request,
      caller,
      whose: accountId ?? clientOf(caller),
      find: async () => rowsByTime(site, caller, await askedOf(site, caller, query, accountId)),
      fileOf,
    }),
})

/** `lines`: of all questions of operators about what was used. */
export function consoleExplore(site: Site, lines: ExploreLines) {
  const ask = asking(site, lines)
  const traffic = askingTraffic(site, lines)
  return new Elysia({ name: 'console explore', prefix: '/console/api' })
    .use(callerMacro(site.people, 'console'))
    .onBeforeHandle(({ set }) => {
      Object.assign(set.headers, NO_STORE)
    })
    .get(
      '/explore',
      ({ caller, query }) =>
        isTrafficMeasure(query.measure) ? traffic.document(caller, query, query.measure) : ask.document(caller, query),
      { person: true, query: EXPLORE_QUERY },
    )
    .get(
      '/explore.csv',
      ({ caller, query, request }) =>
        isTrafficMeasure(query.measure) ? traffic.file(request, caller, query, query.measure) : ask.file(request, caller, query),
      { person: true, query: EXPLORE_QUERY },
    )
}

export function cabinetExplore(site: Site) {
  const ask = asking(site, new ExploreLines())
  return new Elysia({ name: 'cabinet explore', prefix: '/cabinet/api/accounts/:accountId' })
    .use(callerMacro(site.people, 'cabinet'))
    .onBeforeHandle(({ set }) => {
      Object.assign(set.headers, NO_STORE)
    })
    .get('/explore', ({ caller, params, query }) => ask.document(caller, query, params.accountId), {
      member: 'reader',
      query: EXPLORE_QUERY,
    })
    .get('/explore.csv', ({ caller, params, query, request }) => ask.file(request, caller, query, params.accountId), {
      member: 'reader',
      query: EXPLORE_QUERY,
    })
}
