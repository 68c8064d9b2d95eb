/** What was used by what is asked, as a document and as a file: for operators of all accounts, for an account's people of their own. Rules: pages.md "Explore". */

import { Elysia, type Static } from 'elysia'
import { CUSTOMERS_DIMENSIONS, DIMENSIONS } from '../../core/explore.ts'
import { dayText } from '../../core/utc.ts'
import { wholeExplored } from '../../ledger/reading/explore.ts'
import type { ExploreRow } from '../../ledger/reading/explore-reads.ts'
import type { Site } from '../site.ts'
import { refuse } from './answers.ts'
import { type Caller, callerMacro } from './caller.ts'
import { NO_STORE } from './console-acts.ts'
import { CSV, download, refuseForeign } from './download.ts'
import { exploreCsv, exploreDocument } from './explore-document.ts'
import { EXPLORE_QUERY, type Explore, exploreOf } from './explore-query.ts'
import { refuseUnread } from './unread.ts'

type Found = Readonly<{ rows: readonly ExploreRow[]; explore: Explore; isOperators: boolean }>

/** `accountId`: undefined for operators, who see all. */
async function explored(
  { world }: Site,
  caller: Caller,
  query: Static<typeof EXPLORE_QUERY>,
  accountId?: string,
): Promise<Found | Response> {
  const isOperators = accountId === undefined
  const explore = exploreOf(query, world.clock.now(), isOperators ? DIMENSIONS : CUSTOMERS_DIMENSIONS)
  if ('field' in explore) return refuse(400, explore.message, { field: explore.field })
  const asked = isOperators ? explore.asked : { ...explore.asked, only: { ...explore.asked.only, account: [accountId] } }
  const rows = await wholeExplored(world.reports, `person:${caller.person.id}`, asked)
  if (rows === 'tooMuch')
    return refuse(400, 'This makes more than 50,000 rows. Choose a longer step, fewer days or a filter', { field: 'step' })
  return typeof rows === 'string' ? refuseUnread(rows) : { rows, explore, isOperators }
}

const documentOf = (found: Found | Response) =>
  found instanceof Response ? found : exploreDocument(found.rows, found.explore, found.isOperators)

function fileOf(found: Found | Response): Response {
  if (found instanceof Response) return found
  const { rows, explore, isOperators } = found
  const name = `explore-${dayText(explore.fromDay)}-${dayText(explore.toDay)}.csv`
  return download(exploreCsv(rows, explore, isOperators), CSV, name)
}

export const consoleExplore = (site: Site) =>
  new Elysia({ name: 'console explore', prefix: '/console/api' })
    .use(callerMacro(site.people, 'console'))
    .onBeforeHandle(({ set }) => {
      Object.assign(set.headers, NO_STORE)
    })
    .get('/explore', async ({ caller, query }) => documentOf(await explored(site, caller, query)), { person: true, query: EXPLORE_QUERY })
    .get('/explore.csv', async ({ caller, query, request }) => refuseForeign(request) ?? fileOf(await explored(site, caller, query)), {
      person: true,
      query: EXPLORE_QUERY,
    })

export const cabinetExplore = (site: Site) =>
  new Elysia({ name: 'cabinet explore', prefix: '/cabinet/api/accounts/:accountId' })
    .use(callerMacro(site.people, 'cabinet'))
    .onBeforeHandle(({ set }) => {
      Object.assign(set.headers, NO_STORE)
    })
    .get('/explore', async ({ caller, params, query }) => documentOf(await explored(site, caller, query, params.accountId)), {
      member: 'reader',
      query: EXPLORE_QUERY,
    })
    .get(
      '/explore.csv',
      async ({ caller, params, query, request }) => refuseForeign(request) ?? fileOf(await explored(site, caller, query, params.accountId)),
      { member: 'reader', query: EXPLORE_QUERY },
    )
