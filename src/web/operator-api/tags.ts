/** What an account or key spent by tag, over the operator's API. Rules: operator-api.md "Lists"; requests.md "Tags". */

import { Type } from '@sinclair/typebox'
import { Elysia, type Static, t } from 'elysia'
import { toExactUsdText } from '../../core/money.ts'
import { dayText } from '../../core/utc.ts'
import { tokens } from '../../http/usage-documents.ts'
import type { SpendSums } from '../../ledger/reading/account-reports.ts'
import { sumSpend, wholeSpend } from '../../ledger/reading/spend.ts'
import { NO_TAG, OTHER_TAGS_ID } from '../../ledger/reading/spend-rows.ts'
import { OTHER_TAGS } from '../../ledger/reading/tag-sums.ts'
import type { ApiCaller } from './caller.ts'
import { boundedDaysOf, DAY_RANGE } from './days.ts'
import { answer, ERRORS, Failure, missing, unread, wrong } from './failure.ts'
import type { Parts } from './parts.ts'
import { onlyAccount, seenKey } from './reach.ts'
import { EXACT, ID, orNull, sent } from './shapes.ts'

/** The most rows of an answer; what is beyond them is one more. */
const ROWS_MAX = 1_000
const QUERY = sent({ account_id: t.Optional(ID), key_id: t.Optional(ID), ...DAY_RANGE })
const SUMS = {
  requests: Type.Integer(),
  usage: t.Record(t.String(), t.Unknown(), { description: 'Tokens by kind' }),
  cost_usd: EXACT('what was charged'),
  waived_usd: EXACT('the price of what was not charged'),
}
const USAGE_BY_TAG = t.Object(
  {
    account_id: t.String(),
    key_id: orNull(t.String(), 'null: all keys of the account'),
    from: t.String({ description: 'The first UTC day' }),
    to: t.String({ description: 'The last UTC day' }),
    data: t.Array(
      t.Object(
        {
          tag: orNull(t.String(), 'null: requests without one'),
          is_shared: t.Boolean({ description: 'The sum of all tags beyond those that are kept apart for a key and day' }),
          ...SUMS,
        },
        { title: 'TagUsage', description: 'What was used under a tag' },
      ),
      { description: 'The dearest first' },
    ),
    others: orNull(t.Object({ count: Type.Integer(), ...SUMS }), `Beyond ${ROWS_MAX} rows; null: there are no more`),
    total: t.Object(SUMS, { description: 'Of all' }),
  },
  { title: 'UsageByTag', description: 'What an account or key used, by tag' },
)

const sumsDocument = ({ requests, usage, costPicos, waivedPicos }: SpendSums) => ({
  requests,
  usage: tokens(usage),
  cost_usd: toExactUsdText(costPicos),
  waived_usd: toExactUsdText(waivedPicos),
})

const tagOf = (id: string) => {
  if (id === OTHER_TAGS_ID) return { tag: OTHER_TAGS, is_shared: true }
  return { tag: id === NO_TAG ? null : id, is_shared: false }
}

export function tagRoutes({ world: { reports, clock }, acts: { ask }, macro }: Parts) {
  const whose = async (caller: ApiCaller, { account_id, key_id }: Static<typeof QUERY>) => {
    if (key_id !== undefined) {
      if (account_id !== undefined) return wrong('key_id', 'Name a key or an account, not both')
      const key = await seenKey(ask, caller, key_id)
      return key instanceof Failure ? key : { accountId: key.accountId, keyId: key.id }
    }
    const of = onlyAccount(caller, account_id)
    if (of instanceof Failure) return of
    return of.accountId === undefined ? wrong('account_id', 'Name an account, or a key with key_id') : { accountId: of.accountId }
  }
  const look = async (caller: ApiCaller, query: Static<typeof QUERY>): Promise<Static<typeof USAGE_BY_TAG> | Failure> => {
    const [of, days] = [await whose(caller, query), boundedDaysOf(query, clock.now())]
    if (of instanceof Failure) return of
    if (days instanceof Failure) return days
    const rows = await wholeSpend(reports, caller.client, { kind: 'spend', by: 'tag', ...of, ...days })
    if (rows === undefined) return missing()
    if (typeof rows === 'string') return unread(rows)
    const things = [...Map.groupBy(rows, ({ id }) => id)]
      .map(([id, parts]) => ({ id, sums: sumSpend(parts) }))
      .sort((a, b) => Number(b.sums.costPicos - a.sums.costPicos) || (a.id < b.id ? -1 : 1))
    const rest = things.slice(ROWS_MAX)
    return {
      account_id: of.accountId,
      key_id: query.key_id ?? null,
      from: dayText(days.fromDay),
      to: dayText(days.toDay),
      data: things.slice(0, ROWS_MAX).map(({ id, sums }) => ({ ...tagOf(id), ...sumsDocument(sums) })),
      others: rest.length === 0 ? null : { count: rest.length, ...sumsDocument(sumSpend(rest.map(({ sums }) => sums))) },
      total: sumsDocument(sumSpend(rows)),
    }
  }
  return new Elysia({ name: 'operator api tags' })
    .use(macro)
    .get('/usage/tags', async ({ caller, query }) => answer(await look(caller, query)), {
      token: { scope: 'read', reach: 'account' },
      query: QUERY,
      response: { 200: USAGE_BY_TAG, ...ERRORS },
      detail: {
        operationId: 'getUsageByTag',
        tags: ['Books'],
        summary: 'Show what was used by tag',
        description: 'Of an account, or of a key. Without `from` of the last 30 days; at most 366.',
      },
    })
}
