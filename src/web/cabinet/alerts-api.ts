/** The requests of the page of alerts. Its routes answer with whole responses, so their documents are typed here, by the functions that make them. */

import type { AlertBody, AlertDocument } from '../api/alert-body.ts'
import type { DeliveryDocument } from '../api/alerts.ts'
import type { WebhookDocument } from '../api/webhooks.ts'
import { type AskResult, ask } from '../parts/ask.ts'
import { answerTo } from '../parts/send.ts'

export type Alert = AlertDocument
export type Webhook = WebhookDocument
export type Delivery = DeliveryDocument
export type Kind = Alert['kind']

/** `emails`: the members who may be written to; none where no mail is set up. `chats`: how many chats in Telegram are told every alert. */
export type Alerts = Readonly<{ data: readonly Alert[]; emails: readonly string[]; sends_mail: boolean; chats: number; alerts_max: number }>
export type Webhooks = Readonly<{ data: readonly Webhook[]; webhooks_max: number }>
export type Deliveries = Readonly<{ data: readonly Delivery[]; next: number | null }>

export function alertsOf(accountId: string) {
  const root = `/cabinet/api/accounts/${encodeURIComponent(accountId)}`
  const at = (kind: 'alerts' | 'webhooks', id: string): string => `${root}/${kind}/${encodeURIComponent(id)}`
  const act = <T>(path: string, body?: unknown, method?: 'DELETE' | 'PATCH'): Promise<AskResult<T>> =>
    ask<T>(answerTo<T>(path, body, method)) as Promise<AskResult<T>>
  return {
    alerts: () => answerTo<Alerts>(`${root}/alerts`),
    webhooks: () => answerTo<Webhooks>(`${root}/webhooks`),
    deliveries: (before: string | undefined, limit: number) =>
      answerTo<Deliveries>(`${root}/deliveries?limit=${limit}${before === undefined ? '' : `&before=${before}`}`),
    add: (body: AlertBody) => act<Alert>(`${root}/alerts`, body),
    change: (id: string, body: Partial<AlertBody>) => act<Alert>(at('alerts', id), body, 'PATCH'),
    remove: (kind: 'alerts' | 'webhooks', id: string) => act<unknown>(at(kind, id), undefined, 'DELETE'),
    test: (kind: 'alerts' | 'webhooks', id: string) => act<Readonly<{ event_id: string }>>(`${at(kind, id)}/test`, {}),
    addWebhook: (url: string) => act<Webhook & Readonly<{ secret: string }>>(`${root}/webhooks`, { url }),
    changeWebhook: (id: string, to: Readonly<{ url?: string; is_enabled?: boolean }>) => act<Webhook>(at('webhooks', id), to, 'PATCH'),
  }
}

export type AlertsApi = ReturnType<typeof alertsOf>
