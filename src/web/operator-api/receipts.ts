/** Receipts and upstream calls over the operator's API. Rules: operator-api.md "Scopes", "Lists"; operator.md "Lists". */

import { Type } from '@sinclair/typebox'
import { Elysia, type Static, t } from 'elysia'
import { OUTCOMES } from '../../core/outcome.ts'
import { TAG_PATTERN } from '../../core/spend-tag.ts'
import { REQUEST, REQUEST_DETAIL, requestDetail } from '../../http/usage-documents.ts'
import { listOfOne } from '../../ledger/reading/receipt-filter.ts'
import { attemptDocument, ofOperators, receiptDocument } from '../api/console-documents.ts'
import { type ApiCaller, seesAccount } from './caller.ts'
import { answer, ERRORS, Failure, missing } from './failure.ts'
import type { Parts } from './parts.ts'
import { onlyOf } from './reach.ts'
import { AT, EXACT, ID, listDocument, listOf, noCursor, oneOf, orNull, PAGING, pagingOf, RANGE, sent, spanOf } from './shapes.ts'

const UPSTREAM = t.Object(
  { name: t.String(), model: t.String(), message_id: orNull(t.String()), request_id: orNull(t.String()) },
  { title: 'UpstreamCall', description: 'The upstream, its model, and its ids' },
)
const OPERATOR_FIELDS = {
  account_id: t.String(),
  key_id: t.String(),
  key_name: t.String(),
  hold_usd: EXACT('what was reserved'),
  over_hold_usd: orNull(t.String(), 'What it cost beyond that; null: nothing'),
  bytes_per_token: orNull(t.Number(), 'What estimated tokens rest on'),
  upstream: orNull(UPSTREAM),
  upstream_cost_usd: orNull(t.String(), 'USD with all digits: what the call cost you at its upstream; null: it is not known'),
  cache_lost_usd: orNull(t.String(), 'USD with all digits: what filling a second cache cost; null: nothing, or it is not known'),
}
const RECEIPT = t.Object({ ...REQUEST.properties, ...OPERATOR_FIELDS }, { title: 'Receipt', description: 'A request that ended' })
const ATTEMPT = t.Object(
  {
    request_id: t.Optional(t.String()),
    number: Type.Integer(),
    upstream: UPSTREAM,
    status: orNull(Type.Integer(), 'The upstream’s; null: none came'),
    cause: t.String(),
    basis: t.String(),
    input_tokens: Type.Integer(),
    output_tokens: Type.Integer(),
    price_usd: EXACT('its tokens at the prices of its request'),
    upstream_cost_usd: orNull(t.String(), 'USD with all digits: what it cost you; null: it is not known'),
    started_at: AT('when it began'),
    duration_ms: t.Number(),
  },
  { title: 'Attempt', description: 'An upstream call that is no receipt' },
)
const DETAIL = t.Object(
  {
    request_id: t.String(),
    request: t.Optional(
      t.Object(
        { ...REQUEST_DETAIL.properties, ...OPERATOR_FIELDS },
        { title: 'ReceiptDetail', description: 'Absent: only upstream calls are known, which no client paid for' },
      ),
    ),
    other_attempts: t.Array(ATTEMPT),
  },
  { title: 'RequestOfGateway', description: 'A receipt with its computation, and its other upstream calls' },
)
const LIST = sent({
  ...PAGING,
  ...RANGE,
  account_id: t.Optional(ID),
  key_id: t.Optional(ID),
  model: t.Optional(t.String({ maxLength: 300 })),
  tag: t.Optional(t.String({ pattern: TAG_PATTERN, description: 'A tag: 1 to 64 letters, digits, ".", "_", ":", "/" and "-"' })),
  outcome: t.Optional(oneOf(OUTCOMES, 'How a request ended')),
  only: t.Optional(oneOf(['over hold', 'waived', 'estimated'], 'Over its hold, waived, or with estimated tokens')),
})
const ATTEMPTS = sent({ ...PAGING, ...RANGE, request_id: t.Optional(ID) })

function receiptActs({ acts: { ask } }: Parts) {
  const list = async (caller: ApiCaller, query: Static<typeof LIST>) => {
    const { account_id, key_id, model, tag, outcome, only, from, to, ...paged } = query
    const [of, span] = [await onlyOf(ask, caller, { account_id, key_id }), spanOf({ from, to })]
    if (of instanceof Failure) return of
    if (span instanceof Failure) return span
    const kind = only === 'estimated' ? { usageSource: only } : only === undefined ? {} : { only }
    const filters = { modelIds: listOfOne(model), outcomes: listOfOne(outcome), tag, ...kind }
    const whose = { accountIds: listOfOne(of.accountId), keyIds: listOfOne(of.keyId) }
    const page = await ask<'allReceipts'>(caller, { kind: 'allReceipts', ...pagingOf(paged), of: whose, ...span, ...filters })
    if (page === undefined) return noCursor()
    return page instanceof Failure ? page : listDocument(page, receiptDocument)
  }
  const look = async (caller: ApiCaller, requestId: string) => {
    const found = await ask<'anyReceipt'>(caller, { kind: 'anyReceipt', requestId })
    if (found instanceof Failure) return found
    const accountId = found?.receipt?.accountId ?? found?.attempts[0]?.accountId
    if (found === undefined || accountId === undefined || !seesAccount(caller, accountId)) return missing()
    const { receipt, attempts } = found
    return {
      request_id: requestId,
      ...(receipt === undefined ? {} : { request: { ...requestDetail(receipt), ...ofOperators(receipt) } }),
      other_attempts: attempts.map(attemptDocument),
    }
  }
  const attempts = async (caller: ApiCaller, { request_id, from, to, ...paged }: Static<typeof ATTEMPTS>) => {
    const span = spanOf({ from, to })
    if (span instanceof Failure) return span
    if (paged.cursor !== undefined && !/^req_\w{1,60}:\d{1,9}$/.test(paged.cursor)) return noCursor()
    const of = request_id === undefined ? {} : { requestId: request_id }
    const page = await ask<'attempts'>(caller, { kind: 'attempts', ...pagingOf(paged), ...span, ...of })
    return page instanceof Failure ? page : listDocument(page, (row) => ({ request_id: row.requestId, ...attemptDocument(row) }))
  }
  return { list, look, attempts }
}

const detail = (operationId: string, summary: string, description: string) => ({ operationId, tags: ['Books'], summary, description })

export function receiptRoutes(parts: Parts) {
  const { list, look, attempts } = receiptActs(parts)
  return new Elysia({ name: 'operator api receipts' })
    .use(parts.macro)
    .get('/receipts', async ({ caller, query }) => answer(await list(caller, query)), {
      token: { scope: 'read', reach: 'account' },
      query: LIST,
      response: { 200: listOf(RECEIPT, 'ReceiptList'), ...ERRORS },
      detail: detail(
        'listReceipts',
        'List receipts',
        'What requests cost, newest first. A page that was filtered may be short and have more behind it.',
      ),
    })
    .get('/receipts/:request_id', async ({ caller, params }) => answer(await look(caller, params.request_id)), {
      token: { scope: 'read', reach: 'account' },
      response: { 200: DETAIL, ...ERRORS },
      detail: detail('getReceipt', 'Show a request', 'Each count × rate, what was reserved, and every upstream call.'),
    })
    .get('/attempts', async ({ caller, query }) => answer(await attempts(caller, query)), {
      token: { scope: 'read', reach: 'gateway' },
      query: ATTEMPTS,
      response: { 200: listOf(ATTEMPT, 'AttemptList'), ...ERRORS },
      detail: detail('listAttempts', 'List attempts', 'Upstream calls that may have cost you money and are no receipt.'),
    })
}
