/**
 * What a key used: its requests one by one, as JSON or CSV, one request with the whole computation, and its days. Usage is read beside the ledger, never in the way of
 * a request. Rules: requests.md "Usage"; keys.md "Order of checks"; ledger.md "Reads".
 */

import { Elysia, type Static } from 'elysia'
import type { KeyRecord } from '../core/key.ts'
import type { Outcome } from '../core/outcome.ts'
import { invalid, Refusal } from '../core/refusal.ts'
import { dayAt } from '../core/utc.ts'
import type { QuestionOf, ReceiptPage } from '../ledger/reading/reports.ts'
import { refusalOfUnread } from '../relay/key-balance.ts'
import type { World } from '../world.ts'
import { type Asker, answerJson, answerSmall, answerWith } from './answers.ts'
import { KEY_HEADERS, type keyMacro } from './key.ts'
import { csvStream } from './usage-csv.ts'
import { DAILY, dailyDocument, REQUEST_DETAIL, REQUEST_LIST, requestDetail, requestDocument } from './usage-documents.ts'
import { cursorOf, DAILY_QUERY, dateOf, dayPlaceOf, limitOf, placeOf, REQUESTS_QUERY, timeOf } from './usage-query.ts'

/** Rows in one read of a download: a read takes some milliseconds, then others have their turn. */
const CSV_PAGE = 200
const DAYS = 30
/** A page holds a month of some thirty models. */
const DAILY_PAGE = 1_000
const DAYS_MAX = 366

type PageQuestion = QuestionOf<'receipts'>
type Reading = Readonly<{ question: PageQuestion; page: ReceiptPage }>

export function usageRoutes(world: World, macro: ReturnType<typeof keyMacro>) {
  const headers = KEY_HEADERS.bearer
  const about = (operationId: string, summary: string, description: string) => ({ operationId, tags: ['Usage'], summary, description })
  return new Elysia({ name: 'usage' })
    .use(macro)
    .get('/v1/dashboard/usage/requests', ({ asker, query }) => answerRequests(world, asker, query), {
      key: 'dashboard',
      headers,
      query: REQUESTS_QUERY,
      response: { 200: REQUEST_LIST },
      detail: about(
        'listUsageRequests',
        'List requests',
        'The requests of this key, newest first, each with its tokens and its cost. `format=csv`, or `Accept: text/csv`, gives all of them as a file instead of a page.',
      ),
    })
    .get('/v1/dashboard/usage/requests/:request_id', ({ asker, params }) => answerOne(world, asker, params.request_id), {
      key: 'dashboard',
      headers,
      response: { 200: REQUEST_DETAIL },
      detail: about(
        'getUsageRequest',
        'Get a request',
        'One request of this key: each count × its rate = its price, how it ended, and why nothing was charged where nothing was.',
      ),
    })
    .get('/v1/dashboard/usage/daily', ({ asker, query }) => answerDaily(world, asker, query), {
      key: 'dashboard',
      headers,
      query: DAILY_QUERY,
      response: { 200: DAILY },
      detail: about(
        'listUsageDaily',
        'List usage by day',
        `What this key used, by UTC day and model: the last ${DAYS} days, or another span of at most ${DAYS_MAX}, ${DAILY_PAGE} rows a page.`,
      ),
    })
}

function answerRequests(world: World, asker: Asker, query: Static<typeof REQUESTS_QUERY>): Promise<Response> {
  const isCsv = wantsCsv(asker.request, query.format)
  const read = async (key: KeyRecord): Promise<Reading | Refusal> => {
    const question = questionOf(key, query, isCsv ? CSV_PAGE : limitOf(query.limit))
    if (question instanceof Refusal) return question
    const page = await readPage(world, question)
    return page instanceof Refusal ? page : { question, page }
  }
  return answerWith(asker, read, ({ question, page }, headers) => {
    if (!isCsv) return answerJson(listOf(page), 200, headers)
    const next = async (after: string) => (await world.reports.ask(question.keyId, { ...question, after })) ?? 'unavailable'
    return csvResponse(csvStream(page, next), headers)
  })
}

function answerOne(world: World, asker: Asker, requestId: string): Promise<Response> {
  return answerSmall(asker, async (key) => {
    const receipt = await world.reports.ask(key.id, { kind: 'receipt', keyId: key.id, requestId })
    if (typeof receipt === 'string') return refusalOfUnread(receipt)
    return receipt === undefined ? new Refusal('notFound') : requestDetail(receipt)
  })
}

function answerDaily(world: World, asker: Asker, { from, to, model, cursor }: Static<typeof DAILY_QUERY>): Promise<Response> {
  return answerSmall(asker, async (key) => {
    const toDay = to === undefined ? dayAt(world.clock.now()) : dateOf('to', to)
    if (toDay instanceof Refusal) return toDay
    const fromDay = from === undefined ? toDay - DAYS + 1 : dateOf('from', from)
    if (fromDay instanceof Refusal) return fromDay
    if (toDay - fromDay >= DAYS_MAX) return invalid('from', `Input should be at most ${DAYS_MAX} days before the end`)
    const after = cursor === undefined ? undefined : (dayPlaceOf(cursor) ?? WRONG_CURSOR)
    if (after instanceof Refusal) return after
    const span = { keyId: key.id, fromDay, toDay, modelId: model ?? null, limit: DAILY_PAGE }
    const page = await world.reports.ask(key.id, { kind: 'daily', ...span, ...(after === undefined ? {} : { after }) })
    return typeof page === 'string' ? refusalOfUnread(page) : dailyDocument(fromDay, toDay, page)
  })
}

/** The query as a question to the ledger, or the mistake in it. */
function questionOf(key: KeyRecord, query: Static<typeof REQUESTS_QUERY>, limit: number): PageQuestion | Refusal {
  const from = query.from === undefined ? undefined : timeOf('from', query.from, 'start')
  if (from instanceof Refusal) return from
  const to = query.to === undefined ? undefined : timeOf('to', query.to, 'end')
  if (to instanceof Refusal) return to
  const after = query.cursor === undefined ? undefined : (placeOf(query.cursor) ?? WRONG_CURSOR)
  if (after instanceof Refusal) return after
  return {
    kind: 'receipts',
    keyId: key.id,
    limit,
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(after === undefined ? {} : { after }),
    ...(query.model === undefined ? {} : { modelId: query.model }),
    ...(query.outcome === undefined ? {} : { outcome: query.outcome as Outcome }),
    ...(query.tag === undefined ? {} : { tag: query.tag }),
  }
}

const WRONG_CURSOR = invalid('cursor', 'Input should be the `next_cursor` of a page of this key')

async function readPage(world: World, question: PageQuestion): Promise<ReceiptPage | Refusal> {
  const page = await world.reports.ask(question.keyId, question)
  if (typeof page === 'string') return refusalOfUnread(page)
  return page ?? WRONG_CURSOR
}

const listOf = ({ rows, next }: ReceiptPage): Static<typeof REQUEST_LIST> => ({
  object: 'list',
  data: rows.map(requestDocument),
  has_more: next !== null,
  next_cursor: next === null ? null : cursorOf(next),
})

/** The format that the query names; otherwise CSV where the client accepts it. */
const wantsCsv = (request: Request, format: string | undefined): boolean =>
  format === undefined ? /(^|[\s,])text\/csv\b/i.test(request.headers.get('accept') ?? '') : format === 'csv'

const csvResponse = (body: ReadableStream<Uint8Array>, headers: Record<string, string>): Response =>
  new Response(body, {
    headers: {
      'content-type': 'text/csv; charset=utf-8; header=present',
      'content-disposition': 'attachment; filename="requests.csv"',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      ...headers,
    },
  })
