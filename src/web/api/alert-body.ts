/** An alert as the page sends and gets it, and the mistakes in one, in words for their fields. Rules: pages.md "Alerts". */

import { type Static, t } from 'elysia'
import type { Alert } from '../../alerts/alert-rows.ts'
import { ALERT_BOUNDS } from '../../alerts/alert-store.ts'
import type { AlertRule } from '../../core/alerts.ts'
import { parseUsd, toExactUsdText } from '../../core/money.ts'
import { isoTime } from '../../core/utc.ts'

const DAYS_MAX = 90
const PERCENT_MAX = 100
const KINDS = ['balance_below', 'daily_spend_above', 'key_expires', 'key_limit_used'] as const

export const ALERT_BODY = t.Object(
  {
    kind: t.Union(
      KINDS.map((kind) => t.Literal(kind)),
      { description: 'Choose what to watch' },
    ),
    threshold_usd: t.Optional(t.String({ maxLength: 30, description: 'An amount in USD, such as 10 or 2.50' })),
    days: t.Optional(t.Integer({ minimum: 1, maximum: DAYS_MAX, description: `A whole number of days from 1 to ${DAYS_MAX}` })),
    percent: t.Optional(t.Integer({ minimum: 1, maximum: PERCENT_MAX, description: `A whole number from 1 to ${PERCENT_MAX}` })),
    key_id: t.Optional(t.Union([t.String({ maxLength: 100 }), t.Null()], { description: 'Choose a key of this account' })),
    emails: t.Array(t.String({ maxLength: 300 }), {
      maxItems: ALERT_BOUNDS.emails,
      uniqueItems: true,
      description: `At most ${ALERT_BOUNDS.emails} members`,
    }),
    webhook_ids: t.Array(t.String({ maxLength: 100 }), {
      maxItems: ALERT_BOUNDS.webhooks,
      uniqueItems: true,
      description: 'Choose webhooks of this account',
    }),
    is_enabled: t.Optional(t.Boolean({ description: 'On or off' })),
  },
  { additionalProperties: false },
)

export type AlertBody = Static<typeof ALERT_BODY>
export type FieldProblem = Readonly<{ field: keyof AlertBody; message: string }>

export function ruleOf({ kind, threshold_usd, days, percent, key_id = null }: AlertBody): AlertRule | FieldProblem {
  switch (kind) {
    case 'balance_below':
    case 'daily_spend_above': {
      const thresholdPicos = parseUsd((threshold_usd ?? '').trim())
      if (thresholdPicos === undefined || thresholdPicos <= 0n)
        return { field: 'threshold_usd', message: 'An amount above 0 in USD, such as 10 or 2.50' }
      return kind === 'balance_below' ? { kind, thresholdPicos } : { kind, thresholdPicos, keyId: key_id }
    }
    case 'key_expires':
      return days === undefined ? { field: 'days', message: `A whole number of days from 1 to ${DAYS_MAX}` } : { kind, days, keyId: key_id }
    case 'key_limit_used':
      return percent === undefined
        ? { field: 'percent', message: `A whole number from 1 to ${PERCENT_MAX}` }
        : { kind, percent, keyId: key_id }
  }
}

/** An alert as the page gets it. */
export type AlertDocument = ReturnType<typeof documentOf>

/** `isFiring`: the alert has fired, and its condition still holds. */
export const documentOf = ({ id, rule, emails, webhooks, isEnabled, createdBy, createdAt }: Alert, isFiring: boolean) => ({
  id,
  kind: rule.kind,
  threshold_usd: 'thresholdPicos' in rule ? toExactUsdText(rule.thresholdPicos) : null,
  days: rule.kind === 'key_expires' ? rule.days : null,
  percent: rule.kind === 'key_limit_used' ? rule.percent : null,
  key_id: rule.kind === 'balance_below' ? null : rule.keyId,
  emails,
  webhook_ids: webhooks,
  is_enabled: isEnabled,
  is_firing: isFiring,
  created_by: createdBy,
  created_at: isoTime(createdAt),
})
