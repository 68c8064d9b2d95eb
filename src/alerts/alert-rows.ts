/** Alerts and webhooks as the store has them, and as the code reads them. Rules: pages.md "Alerts". */

import type { AlertRule } from '../core/alerts.ts'
import { parseUsd, toExactUsdText, ZERO } from '../core/money.ts'

export type Alert = Readonly<{
  id: string
  accountId: string
  rule: AlertRule
  /** Addresses of members of the account, in lower case. */
  emails: readonly string[]
  /** Ids of webhooks. */
  webhooks: readonly string[]
  isEnabled: boolean
  createdBy: string
  /** Unix milliseconds. */
  createdAt: number
  version: number
}>

export type Webhook = Readonly<{
  id: string
  accountId: string
  url: string
  secret: string
  isEnabled: boolean
  createdBy: string
  createdAt: number
}>

type RuleColumns = Readonly<{ kind: AlertRule['kind']; threshold: string; key_id: string | null }>
export type AlertRow = RuleColumns &
  Readonly<{
    id: string
    account_id: string
    emails: string
    webhooks: string
    is_enabled: 0 | 1
    created_by: string
    created_at: number
    version: number
  }>
export type WebhookRow = Readonly<{
  id: string
  account_id: string
  url: string
  secret: string
  is_enabled: 0 | 1
  created_by: string
  created_at: number
}>

export const alertOf = (row: AlertRow): Alert => ({
  id: row.id,
  accountId: row.account_id,
  rule: ruleOf(row),
  emails: JSON.parse(row.emails) as readonly string[],
  webhooks: JSON.parse(row.webhooks) as readonly string[],
  isEnabled: row.is_enabled === 1,
  createdBy: row.created_by,
  createdAt: row.created_at,
  version: row.version,
})

export const webhookOf = (row: WebhookRow): Webhook => ({
  id: row.id,
  accountId: row.account_id,
  url: row.url,
  secret: row.secret,
  isEnabled: row.is_enabled === 1,
  createdBy: row.created_by,
  createdAt: row.created_at,
})

export function ruleColumns(rule: AlertRule): RuleColumns {
  switch (rule.kind) {
    case 'balance_below':
      return { kind: rule.kind, threshold: toExactUsdText(rule.thresholdPicos), key_id: null }
    case 'daily_spend_above':
      return { kind: rule.kind, threshold: toExactUsdText(rule.thresholdPicos), key_id: rule.keyId }
    case 'key_expires':
      return { kind: rule.kind, threshold: String(rule.days), key_id: rule.keyId }
    case 'key_limit_used':
      return { kind: rule.kind, threshold: String(rule.percent), key_id: rule.keyId }
  }
}

function ruleOf({ kind, threshold, key_id }: RuleColumns): AlertRule {
  switch (kind) {
    case 'balance_below':
      return { kind, thresholdPicos: parseUsd(threshold) ?? ZERO }
    case 'daily_spend_above':
      return { kind, thresholdPicos: parseUsd(threshold) ?? ZERO, keyId: key_id }
    case 'key_expires':
      return { kind, days: Number(threshold), keyId: key_id }
    case 'key_limit_used':
      return { kind, percent: Number(threshold), keyId: key_id }
  }
}
