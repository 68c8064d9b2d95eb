/** The fields for the cost that an answer's usage has beside its tokens, where the request asked for them. Rules: requests.md "Cost of an answer". */

import { Type } from '@sinclair/typebox'
import { t } from 'elysia'

export const COST_FIELDS = {
  cost_usd: t.Optional(Type.Number({ description: 'USD, 6 decimals: what the answer was charged. Only with `x-include-cost: true`' })),
  cost_usd_exact: t.Optional(t.String({ description: 'The same with every digit' })),
}
