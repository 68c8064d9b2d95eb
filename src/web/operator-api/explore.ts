/** What was used by what is asked, over the operator's API: the document of the console's page Explore. Rules: pages.md "Explore"; operator-api.md "Scopes". */

import { Type } from '@sinclair/typebox'
import { Elysia, type Static, t } from 'elysia'
import { CUSTOMERS_DIMENSIONS, DIMENSIONS } from '../../core/explore.ts'
import { CUSTOMERS_ROWS_MAX, ROWS_MAX, wholeGroups } from '../../ledger/reading/explore.ts'
import { inTurns } from '../../ledger/reading/loop-turns.ts'
import { OneByOne } from '../../ledger/reading/one-by-one.ts'
import { exploreDocument } from '../api/explore-document.ts'
import { EXPLORE_FIELDS, exploreOf } from '../api/explore-query.ts'
import type { ApiCaller } from './caller.ts'
import { answer, ERRORS, type Failure, missing, unread, wrong } from './failure.ts'
import type { Parts } from './parts.ts'
import { EXACT, orNull, sent } from './shapes.ts'

const QUERY = sent(EXPLORE_FIELDS)
const THINGS = t.Array(t.Object({ id: t.String(), name: t.String({ description: 'Of a key or an account' }) }), {
  description: 'In the order of `by`',
})
const SUMS = {
  requests: Type.Integer(),
  usage: t.Record(t.String(), t.Unknown(), { description: 'Tokens by kind' }),
  cache_hit_thousandths: orNull(Type.Integer(), 'Of the tokens of prompts those that a cache had, in thousandths'),
  cost_usd: EXACT('what was charged'),
  waived_usd: EXACT('the price of what was not charged'),
  estimated_usd: EXACT('the part of the cost that rests on estimated tokens'),
  upstream_cost_usd: t.Optional(EXACT('what it cost you, of the requests whose cost is known; only for a token of all accounts')),
  costed_requests: t.Optional(Type.Integer({ description: 'Those requests' })),
}
const EXPLORED = t.Object(
  {
    by: t.Array(t.String()),
    step: t.String(),
    measure: t.String(),
    from: t.String({ description: 'The first UTC day' }),
    to: t.String({ description: 'The last UTC day' }),
    places: t.Array(t.String(), { description: 'The beginning of each step' }),
    series: t.Array(t.Object({ things: orNull(THINGS, 'null: all others'), values: t.Array(orNull(t.String(), 'null: there is none')) }), {
      description: 'The measure by step, of the first things',
    }),
    data: t.Array(t.Object({ things: THINGS, ...SUMS }, { title: 'ExploredRow', description: 'Sums over the whole span' })),
    others: orNull(t.Object({ count: Type.Integer(), ...SUMS }), 'Beyond 500 rows; null: there are no more'),
    total: t.Object(SUMS, { description: 'Of all' }),
  },
  { title: 'Explored', description: 'What was used, told apart by what was asked' },
)

export function exploreRoutes({ world: { reports, clock }, macro }: Parts) {
  const questions = new OneByOne()
  const look = async (caller: ApiCaller, query: Static<typeof QUERY>): Promise<Static<typeof EXPLORED> | Failure> => {
    const { accountIds } = caller.token
    const isBound = accountIds.length > 0
    const known = isBound ? DIMENSIONS.filter((one) => one === 'account' || CUSTOMERS_DIMENSIONS.includes(one)) : DIMENSIONS
    const explore = exploreOf(query, clock.now(), known)
    if ('field' in explore) return wrong(explore.field, explore.message)
    const { asked } = explore
    if (isBound && asked.only.account?.some((id) => !accountIds.includes(id))) return missing()
    const { key: keyIds } = asked.only
    const isSeen =
      keyIds === undefined || (await reports.ask(caller.client, { kind: 'hasKeys', accountIds: isBound ? accountIds : undefined, keyIds }))
    if (isSeen === false) return missing()
    if (isSeen !== true) return unread(isSeen)
    const only = isBound ? { ...asked.only, account: asked.only.account ?? accountIds } : asked.only
    const groups = await wholeGroups(reports, caller.client, {
      query: { ...asked, only },
      measure: explore.measure,
      rowsMax: isBound ? CUSTOMERS_ROWS_MAX : ROWS_MAX,
    })
    if (groups === 'tooMuch')
      return wrong('step', `This makes more than ${isBound ? '5,000' : '50,000'} rows: ask for a longer step, fewer days or a filter`)
    if (typeof groups === 'string') return unread(groups)
    return inTurns(exploreDocument(groups, explore, !isBound))
  }
  const inLine = (caller: ApiCaller, work: () => ReturnType<typeof look>) => questions.run(caller.client, work, () => unread('tooMany'))
  return new Elysia({ name: 'operator api explore' })
    .use(macro)
    .get('/usage/explore', async ({ caller, query }) => answer(await inLine(caller, () => look(caller, query))), {
      token: { scope: 'read', reach: 'account' },
      query: QUERY,
      response: { 200: EXPLORED, ...ERRORS },
      detail: {
        operationId: 'exploreUsage',
        tags: ['Books'],
        summary: 'Show what was used by what you ask',
        description:
          'Spend, requests and tokens by one or two of model, key, account, upstream, format, outcome and tag, in steps of time. At most 366 days.',
      },
    })
}
