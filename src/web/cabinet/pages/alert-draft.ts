/** An alert as it is typed into its form: the values at first, and the body that is sent. Rules: pages.md "Alerts on the page". */

import type { AlertBody } from '../../api/alert-body.ts'
import type { Alert, Kind, Webhook } from '../alerts-api.ts'

/** The values with which the form begins. `alert`: the alert that is changed. */
export type Draft = Readonly<{ alert?: Alert; kind?: Kind; amount?: string; emails?: readonly string[] }>

export type TypedAlert = Readonly<{
  kind: Kind
  amount: string
  days: string
  percent: string
  /** A key's id; '': any key. */
  keyId: string
  emails: readonly string[]
  hooks: readonly string[]
  isEnabled: boolean
}>

export const typedOf = ({ alert, ...draft }: Draft): TypedAlert => ({
  kind: alert?.kind ?? draft.kind ?? 'balance_below',
  amount: alert?.threshold_usd ?? draft.amount ?? '',
  days: String(alert?.days ?? 7),
  percent: String(alert?.percent ?? 80),
  keyId: alert?.key_id ?? '',
  emails: alert?.emails ?? draft.emails ?? [],
  hooks: alert?.webhook_ids ?? [],
  isEnabled: alert?.is_enabled ?? true,
})

/** People who have left the account are dropped from the receivers with the next change. */
export const bodyOf = (typed: TypedAlert, emails: readonly string[], webhooks: readonly Webhook[]): AlertBody => ({
  kind: typed.kind,
  ...(typed.kind === 'balance_below' || typed.kind === 'daily_spend_above'
    ? { threshold_usd: typed.amount.trim().replace(/^\$/, '') }
    : {}),
  ...(typed.kind === 'key_expires' ? { days: Number(typed.days) } : {}),
  ...(typed.kind === 'key_limit_used' ? { percent: Number(typed.percent) } : {}),
  key_id: typed.kind === 'balance_below' || typed.keyId === '' ? null : typed.keyId,
  emails: typed.emails.filter((email) => emails.includes(email)),
  webhook_ids: typed.hooks.filter((id) => webhooks.some((hook) => hook.id === id)),
  is_enabled: typed.isEnabled,
})
