/** The fields that people type about a key, with their checks: a mistake is told with its field, in words. Rules: pages.md "Keys of an account"; keys.md "Expiry and rotation". */

import { t } from 'elysia'
import { KEY_EXPIRY_DAYS_MAX } from '../../core/limits.ts'
import { BALANCE_PICOS_MAX, type Picos, parseUsd, ZERO } from '../../core/money.ts'
import { RATE_MAX } from '../../core/token-buckets.ts'
import { OVERLAP_HOURS_MAX } from '../../ledger/operations/key-writes.ts'
import { refuse } from './answers.ts'
import { NAME } from './name-field.ts'

const DAYS = `A whole number of days, 1 to ${KEY_EXPIRY_DAYS_MAX}`
const LIMIT = 'An amount in USD, such as 25 or 0.50; empty for no limit'
export const LIMIT_USD = t.Union([t.String({ maxLength: 40 }), t.Null()], { description: LIMIT })
export const DAYS_MORE = t.Integer({ minimum: 1, maximum: KEY_EXPIRY_DAYS_MAX, description: DAYS })

const RATE = t.Optional(
  t.Union([t.Integer({ minimum: 1, maximum: RATE_MAX }), t.Null()], { description: 'A whole number from 1; null for none' }),
)
/** A rate that is absent stays as it is. */
export const RATES_SET = {
  requests_per_minute: RATE,
  input_tokens_per_minute: RATE,
  output_tokens_per_minute: RATE,
  concurrent_requests: RATE,
}

export const CREATE = t.Object({
  /** The page makes the id, so that a form which is sent twice makes one key. */
  id: t.String({ pattern: '^key_[0-9a-f]{32}$', description: 'An id that was not used' }),
  name: NAME,
  limit_usd: LIMIT_USD,
  expires_in_days: t.Union([DAYS_MORE, t.Null()], { description: DAYS }),
})

/** A field that is absent stays as it is. */
export const CHANGE = t.Object({ name: t.Optional(NAME), limit_usd: t.Optional(LIMIT_USD) })
export const EXTEND = t.Object({ days: DAYS_MORE })
export const OVERLAP_HOURS = t.Integer({
  minimum: 0,
  maximum: OVERLAP_HOURS_MAX,
  description: `A whole number of hours, 0 to ${OVERLAP_HOURS_MAX}`,
})
/** Whether an old secret ends, too, to which an earlier rotation promised more time. */
export const ENDS_PROMISED = t.Optional(t.Boolean())
export const ROTATE = t.Object({ overlap_hours: OVERLAP_HOURS, ends_promised: ENDS_PROMISED })

/** The limit in picodollars; null: no limit. */
export function limitOf(text: string | null): Readonly<{ picos: Picos | null }> | Response {
  const trimmed = text?.trim() ?? ''
  if (trimmed === '') return { picos: null }
  const picos = parseUsd(trimmed)
  return picos === undefined || picos < ZERO || picos > BALANCE_PICOS_MAX ? refuse(400, LIMIT, { field: 'limit_usd' }) : { picos }
}
