/** What was used by what is asked, as a document and as a file: for operators of all accounts, for an account's people of their own. Rules: pages.md "Explore". */

import { Elysia, type Static } from 'elysia'
import { CUSTOMERS_DIMENSIONS, DIMENSIONS } from '../../core/explore.ts'
import { dayText } from '../../core/utc.ts'
import { CUSTOMERS_ROWS_MAX, type ExploredRow, ROWS_MAX, wholeExplored } from '../../ledger/reading/explore.ts'
import { inTurns } from '../../ledger/reading/loop-turns.ts'
import { OneByOne } from '../../ledger/reading/one-by-one.ts'
import type { Site } from '../site.ts'
import { missing, refuse } from './answers.ts'
import { type Caller, callerMacro } from './caller.ts'
import { NO_STORE } from './console-acts.ts'
import { CSV, download, refuseForeign } from './download.ts'
import { exploreCsv } from './explore-csv.ts'
import { exploreDocument } from './explore-document.ts'
import { EXPLORE_QUERY, type Explore, exploreOf } from './explore-query.ts'
import { refuseUnread } from './unread.ts'

type Found = Readonly<{ rows: readonly ExploredRow[]; explore: Explore; isOperators: boolean }>

const TOO_MUCH = 'This makes more than 50,000 rows. Choose a longer step, fewer days or a filter'
const TOO_MUCH_FOR_CUSTOMERS = 'This makes more than 5,000 rows. Choose a shorter time, a longer step or fewer groups'

const clientOf = ({ person }: Caller): string => `person:${person.id}`

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
  const { key: keyIds } = explore.asked.only
  const isOwn =
    isOperators || keyIds === undefined || (await world.reports.ask(clientOf(caller), { kind: 'hasKeys', accountIds: [accountId], keyIds }))
  if (isOwn === false) return missing()
  if (isOwn !== true) return refuseUnread(isOwn)
  const asked = isOperators ? explore.asked : { ...explore.asked, only: { ...explore.asked.only, account: [accountId] } }
  const rows = await wholeExplored(world.reports, clientOf(caller), {
    query: asked,
    rowsMax: isOperators ? ROWS_MAX : CUSTOMERS_ROWS_MAX,
  })
  if (rows === 'tooMuch') return refuse(400, isOperators ? TOO_MUCH : TOO_MUCH_FOR_CUSTOMERS, { field: 'step' })
  return typeof rows === 'string' ? refuseUnread(rows) : { rows, explore, isOperators }
}

const documentOf = (found: Found | Response) =>
  found instanceof Response ? found : inTurns(exploreDocument(found.rows, found.explore, found.isOperators))

function fileOf({ rows, explore, isOperators }: Found, onEnd: () => void): Response {
  const name = `explore-${dayText(explore.fromDay)}-${dayText(explore.toDay)}.csv`
  return download(exploreCsv(rows, explore, { isOperators, onEnd }), CSV, name)
}

/** Each is in memory until it is taken. */
const FILES_AT_ONCE = 100

/** A person's questions, one after another; and of an operator or an account one file at a time, beside which the page answers on. */
function asking(site: Site) {
  const [questions, files] = [new OneByOne(), new OneByOne(FILES_AT_ONCE)]
  const inLine = <T>(caller: Caller, work: () => Promise<T | Response>) =>
    questions.run<T | Response>(clientOf(caller), work, () => refuseUnread('tooMany'))
  return {
    document: (caller: Caller, query: Static<typeof EXPLORE_QUERY>, accountId?: string) =>
      inLine(caller, async () => documentOf(await explored(site, caller, query, accountId))),
    file: async (request: Request, caller: Caller, query: Static<typeof EXPLORE_QUERY>, accountId?: string) => {
      const foreign = refuseForeign(request)
      if (foreign !== undefined) return foreign
      const end = await files.begin(accountId ?? clientOf(caller))
      if (end === undefined) return refuseUnread('tooMany')
      const found = await inLine(caller, () => explored(site, caller, query, accountId)).catch((bug: unknown) => {
        end()
        throw bug
      })
      if (!(found instanceof Response)) return fileOf(found, end)
      end()
      return found
    },
  }
}

export function consoleExplore(site: Site) {
  const ask = asking(site)
  return new Elysia({ name: 'console explore', prefix: '/console/api' })
    .use(callerMacro(site.people, 'console'))
    .onBeforeHandle(({ set }) => {
      Object.assign(set.headers, NO_STORE)
    })
    .get('/explore', ({ caller, query }) => ask.document(caller, query), { person: true, query: EXPLORE_QUERY })
    .get('/explore.csv', ({ caller, query, request }) => ask.file(request, caller, query), { person: true, query: EXPLORE_QUERY })
}

export function cabinetExplore(site: Site) {
  const ask = asking(site)
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
