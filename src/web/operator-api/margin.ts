/** What was charged and what it cost at the upstreams, over the operator's API: of all accounts, so no bound token sees it. Rules: money.md "Margin"; operator-api.md "Scopes". */

import { Type } from '@sinclair/typebox'
import { Elysia, type Static, t } from 'elysia'
import { MARGIN_BY, wholeMargin } from '../../ledger/reading/margin.ts'
import { listOfOne } from '../../ledger/reading/receipt-filter.ts'
import { marginDocument } from '../api/margin-document.ts'
import type { ApiCaller } from './caller.ts'
import { boundedDaysOf, DAY_RANGE } from './days.ts'
import { answer, ERRORS, Failure, unread } from './failure.ts'
import type { Parts } from './parts.ts'
import { EXACT, ID, oneOf, orNull, sent } from './shapes.ts'

/** The most rows of an answer; what is beyond them is one more. */
const ROWS_MAX = 1_000
const QUERY = sent({
  by: t.Optional(oneOf(MARGIN_BY, 'By day, account, model or upstream; by day without')),
  ...DAY_RANGE,
  account_id: t.Optional(ID),
})
const SUMS = {
  requests: Type.Integer({ description: 'Those whose cost is known' }),
  other_calls: Type.Integer({ description: 'Upstream calls that are no receipt' }),
  charged_usd: EXACT('what was charged'),
  waived_usd: EXACT('the price of what was not charged'),
  upstream_cost_usd: EXACT('what all of it cost you'),
  other_calls_cost_usd: EXACT('the part of that which no receipt covers'),
  cache_lost_usd: EXACT('what filling second caches cost'),
  margin_usd: EXACT('charged less cost'),
}
const MARGIN = t.Object(
  {
    by: oneOf(MARGIN_BY, 'What a row is of'),
    from: t.String({ description: 'The first UTC day' }),
    to: t.String({ description: 'The last UTC day' }),
    data: t.Array(
      t.Object(
        { id: t.String(), name: t.String({ description: 'Of an account' }), ...SUMS },
        { title: 'MarginRow', description: 'Of a day, account, model or upstream' },
      ),
      { description: 'Days newest first, all others by what they were charged' },
    ),
    others: orNull(t.Object({ count: Type.Integer(), ...SUMS }), `Beyond ${ROWS_MAX} rows; null: there are no more`),
    total: t.Object(SUMS, { description: 'Of all' }),
    without_cost: t.Array(t.Object({ upstream: t.String(), models: t.Array(t.String()) }), {
      description: 'Upstreams of which the configuration does not say what they charge for these models: their calls are in no sum',
    }),
  },
  { title: 'Margin', description: 'What was charged, less what the same calls cost, where that is known' },
)

export function marginRoutes({ world: { reports, clock, catalog }, macro }: Parts) {
  const look = async (
    caller: ApiCaller,
    { by = 'day', account_id: accountId, ...range }: Static<typeof QUERY>,
  ): Promise<Static<typeof MARGIN> | Failure> => {
    const days = boundedDaysOf(range, clock.now())
    if (days instanceof Failure) return days
    const rows = await wholeMargin(reports, caller.client, { ...days, accountIds: listOfOne(accountId) })
    return typeof rows === 'string' ? unread(rows) : marginDocument(rows, { by, ...days }, ROWS_MAX, catalog())
  }
  return new Elysia({ name: 'operator api margin' })
    .use(macro)
    .get('/margin', async ({ caller, query }) => answer(await look(caller, query)), {
      token: { scope: 'read', reach: 'gateway' },
      query: QUERY,
      response: { 200: MARGIN, ...ERRORS },
      detail: {
        operationId: 'getMargin',
        tags: ['Books'],
        summary: 'Show the margin',
        description:
          'What was charged and what it cost, by day, account, model or upstream. Without `from` of the last 30 days; at most 366.',
      },
    })
}
