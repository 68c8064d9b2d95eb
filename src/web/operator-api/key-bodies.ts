/** What is sent to the routes of keys. Rules: operator-api.md "Writes"; keys.md "Expiry and rotation". */

import { Type } from '@sinclair/typebox'
import { type Static, t } from 'elysia'
import { KEY_EXPIRY_DAYS_MAX } from '../../core/limits.ts'
import { ZERO } from '../../core/money.ts'
import { OVERLAP_HOURS_MAX } from '../../ledger/operations/key-writes.ts'
import { RATES_SET } from '../api/key-fields.ts'
import { Failure, wrong } from './failure.ts'
import { ID, orNull, PAGING, REASON, REF, sent, USD, usdOf } from './shapes.ts'

const DAYS = Type.Integer({ minimum: 1, maximum: KEY_EXPIRY_DAYS_MAX, description: `A whole number of days, 1 to ${KEY_EXPIRY_DAYS_MAX}` })
const NAME = t.String({ maxLength: 500, description: 'A name of 1 to 128 characters' })
export const LIMIT = orNull(t.String({ maxLength: 40 }), 'An amount in USD with all digits, such as "25"; null: no limit of its own')
export const LIST = sent({
  ...PAGING,
  account_id: t.Optional(ID),
  search: t.Optional(t.String({ maxLength: 200, description: 'The beginning of a name or id, or the last four characters of a secret' })),
})
export const CREATE = sent(
  {
    account_id: t.Optional(t.String({ maxLength: 64, description: 'The account that it joins; without it gets an account of its own' })),
    name: t.Optional(NAME),
    plan: t.Optional(t.String({ maxLength: 128, description: 'A plan of the configuration; `default` without' })),
    limit_usd: t.Optional(LIMIT),
    expires_in_days: t.Optional(orNull(DAYS, 'null: it never expires')),
    balance_usd: t.Optional(USD),
    ref: REF,
    reason: REASON,
  },
  { title: 'NewKey', description: '`balance_usd` tops up its account in the same act, for which the scope `all` is needed' },
)
export const RENAME = sent({ name: NAME, reason: REASON }, { title: 'NewKeyName' })
export const SET_LIMIT = sent({ limit_usd: LIMIT, reason: REASON }, { title: 'NewLimit' })
export const SET_RATES = sent(
  { ...RATES_SET, reason: REASON },
  { title: 'NewRates', description: 'What is absent stays as it is; null takes it away' },
)
export const EXTEND = sent({ days: DAYS, reason: REASON }, { title: 'Extension' })
export const ROTATE = sent(
  {
    overlap_hours: t.Optional(
      Type.Integer({ minimum: 0, maximum: OVERLAP_HOURS_MAX, description: 'How long the old secret stays valid; 0 without' }),
    ),
    ends_promised: t.Optional(t.Boolean({ description: 'End old secrets, too, to which an earlier rotation promised more time' })),
    reason: REASON,
  },
  { title: 'Rotation' },
)

export type NewKeyBody = Static<typeof CREATE>
export type RatesBody = Static<typeof SET_RATES>
export type RotationBody = Static<typeof ROTATE>
export type KeysQuery = Static<typeof LIST>

/** The limit of a key; null: none. */
export function limitOf(text: string | null | undefined) {
  if (text === null || text === undefined) return null
  const limit = usdOf('limit_usd', text)
  return limit instanceof Failure || limit >= ZERO ? limit : wrong('limit_usd', '0 USD or more')
}
