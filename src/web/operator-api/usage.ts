/** What was used, by day, key and model, and signed statements, over the operator's API. Rules: operator-api.md "Lists"; ledger.md "Statements". */

import { Type } from '@sinclair/typebox'
import { Elysia, type Static, t } from 'elysia'
import { toExactUsdText } from '../../core/money.ts'
import { tokens } from '../../http/usage-documents.ts'
import type { UsageReport } from '../../ledger/reading/operator-lists.ts'
import { statementStream } from '../../ledger/reading/statement-stream.ts'
import { type ApiCaller, seesAccount } from './caller.ts'
import { DAY_RANGE, daysOf } from './days.ts'
import { answer, busy, ERRORS, Failure, missing, tooMany } from './failure.ts'
import type { Parts } from './parts.ts'
import { onlyOf } from './reach.ts'
import { EXACT, ID, listDocument, listOf, noCursor, PAGING, pagingOf, RANGE, sent, spanOf } from './shapes.ts'

const QUERY = sent({
  ...PAGING,
  account_id: t.Optional(ID),
  key_id: t.Optional(ID),
  ...DAY_RANGE,
})
const COSTS = {
  requests: Type.Integer(),
  cost_usd: EXACT('what was charged'),
  waived_usd: EXACT('the price of what was not charged'),
}
const USAGE = t.Object(
  {
    day: t.String({ description: 'UTC' }),
    account_id: t.String(),
    key_id: t.String(),
    key_name: t.String(),
    model: t.String(),
    usage: t.Record(t.String(), t.Unknown(), { description: 'Tokens by kind' }),
    ...COSTS,
  },
  { title: 'Usage', description: 'What a key used of a model on a day' },
)
const { data, has_more, next_cursor } = listOf(USAGE, 'UsageList').properties
const USAGE_LIST = t.Object(
  { data, total: t.Object(COSTS, { description: 'Of all pages' }), has_more, next_cursor },
  { title: 'UsageList', description: 'A page, newest day first' },
)

const usageDocument = ({ day, accountId, keyId, keyName, modelId, usage, requests, costPicos, waivedPicos }: UsageReport) => ({
  day,
  account_id: accountId,
  key_id: keyId,
  key_name: keyName,
  model: modelId,
  usage: tokens(usage),
  requests,
  cost_usd: toExactUsdText(costPicos),
  waived_usd: toExactUsdText(waivedPicos),
})

function usageActs({ world: { reports, clock }, acts: { ask } }: Parts) {
  const usage = async (caller: ApiCaller, { account_id, key_id, from, to, ...paged }: Static<typeof QUERY>) => {
    const of = await onlyOf(ask, caller, { account_id, key_id })
    if (of instanceof Failure) return of
    const days = daysOf({ from, to })
    if (days instanceof Failure) return days
    if (paged.cursor !== undefined && !/^\d{1,9}:\d{1,15}:\d{1,15}$/.test(paged.cursor)) return noCursor()
    const page = await ask<'usage'>(caller, { kind: 'usage', ...pagingOf(paged), ...of, ...days })
    if (page instanceof Failure) return page
    const { requests, costPicos, waivedPicos } = page.total
    const total = { requests, cost_usd: toExactUsdText(costPicos), waived_usd: toExactUsdText(waivedPicos) }
    return { ...listDocument(page, usageDocument), total }
  }
  const statement = async (caller: ApiCaller, accountId: string, range: Readonly<{ from?: string; to?: string }>): Promise<Response> => {
    const span = spanOf(range)
    if (span instanceof Failure) return answer(span)
    if (!seesAccount(caller, accountId)) return answer(missing())
    const stream = await statementStream(reports, caller.client, { kind: 'statement', accountId, ...span, madeAt: clock.now() })
    if (stream === undefined) return answer(missing())
    if (stream === 'tooMany') return answer(tooMany(1))
    return typeof stream === 'string' ? answer(busy()) : new Response(stream, { headers: { 'content-type': 'application/jsonl' } })
  }
  return { usage, statement }
}

export function usageRoutes(parts: Parts) {
  const { usage, statement } = usageActs(parts)
  return new Elysia({ name: 'operator api usage' })
    .use(parts.macro)
    .get('/usage', async ({ caller, query }) => answer(await usage(caller, query)), {
      token: { scope: 'read', reach: 'account' },
      query: QUERY,
      response: { 200: USAGE_LIST, ...ERRORS },
      detail: {
        operationId: 'getUsage',
        tags: ['Books'],
        summary: 'Show what was used',
        description: 'By day, key and model, newest day first, with the sums of all pages.',
      },
    })
    .get('/accounts/:account_id/statement', ({ caller, params, query }) => statement(caller, params.account_id, query), {
      token: { scope: 'read', reach: 'account' },
      query: sent(RANGE),
      response: { 200: t.String({ description: 'JSON lines' }), ...ERRORS },
      detail: {
        operationId: 'getStatement',
        tags: ['Books'],
        summary: 'Get a signed statement',
        description:
          'Every receipt and credit of the account as JSON lines, with the signature in the last; `tollgate verify-statement` checks it.',
      },
    })
}
