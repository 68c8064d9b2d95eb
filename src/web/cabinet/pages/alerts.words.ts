/** The words of the page of alerts: each alert is a sentence. */

import type { Mood } from '../../parts/badge.tsx'
import { showAgo } from '../../parts/show-time.ts'
import { showUsd } from '../../parts/show-usd.ts'
import type { Alert, Delivery, Kind } from '../alerts-api.ts'
import { problemWords } from './delivery.words.ts'

export const WORDS = {
  title: 'Alerts',
  lede: 'Get a message when the balance runs low, a day costs much or a key is about to expire.',
  make: 'New alert',
  none: 'No alerts yet.',
  noneReader: 'An owner of this account can set them.',
  first: 'Tell me when the balance is below $5',
  firstLede: 'Requests are refused when the balance is used up. One alert is enough to top up in time.',
  noMail: 'This gateway sends no mail: add a webhook first, then an alert that tells it.',
  webhooks: 'Webhooks',
  webhooksLede: 'An address of yours that gets each alert as signed JSON.',
  webhooksNone: 'No webhooks.',
  addWebhook: 'New webhook',
  secret: 'Copy it now: it is shown this once. By it your program knows that a message is ours.',
  deliveries: 'Deliveries',
  deliveriesLede: 'What was sent, and whether it arrived. A failure is tried again for a day.',
  deliveriesNone: 'Nothing was sent yet. An alert’s Test button sends a trial.',
  remove: 'It is deleted at once; what it sent stays in the list.',
} as const

export const KINDS: readonly Readonly<{ value: Kind; text: string }>[] = [
  { value: 'balance_below', text: 'The balance is below an amount' },
  { value: 'daily_spend_above', text: 'A day’s spend is above an amount' },
  { value: 'key_expires', text: 'A key is about to expire' },
  { value: 'key_limit_used', text: 'Much of a limit or budget is used' },
]

const NAME_LENGTH = 40

/** An address as it stands in a sentence: without its scheme, and short. */
function shortUrl(url: string): string {
  const bare = url.replace(/^https?:\/\//, '')
  return bare.length > NAME_LENGTH ? `${bare.slice(0, NAME_LENGTH - 1)}…` : bare
}

/** `keyName`, `webhookName`: undefined for a key or webhook that is not known any more. `chats`: how many chats in Telegram are told every alert. */
export type Names = Readonly<{
  keyName: (id: string) => string | undefined
  webhookName: (id: string) => string | undefined
  chats: number
}>

/** "Tell ann@example.com when the balance is below $5". */
export const sentenceOf = (alert: Alert, names: Names): string => `Tell ${receiversOf(alert, names)} when ${conditionOf(alert, names)}`

function receiversOf({ emails, webhook_ids }: Alert, { webhookName, chats }: Names): string {
  const told = chats === 0 ? [] : [chats === 1 ? 'a chat in Telegram' : `${chats} chats in Telegram`]
  const all = [...emails, ...webhook_ids.map((id) => shortUrl(webhookName(id) ?? 'a removed webhook')), ...told]
  return all.length < 2 ? (all[0] ?? 'no one') : `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`
}

function conditionOf({ kind, threshold_usd, days, percent, key_id }: Alert, { keyName }: Names): string {
  const key = key_id === null ? undefined : `the key “${keyName(key_id) ?? key_id}”`
  const amount = showUsd(threshold_usd ?? '0')
  switch (kind) {
    case 'balance_below':
      return `the balance is below ${amount}`
    case 'daily_spend_above':
      return key === undefined ? `a day’s spend is above ${amount}` : `a day’s spend of ${key} is above ${amount}`
    case 'key_expires':
      return `${key ?? 'a key'} expires within ${days === 1 ? 'a day' : `${days} days`}`
    case 'key_limit_used':
      return `${key ?? 'a key or the account'} has used ${percent}% of its limit or of a budget`
  }
}

export const alertState = ({ is_enabled, is_firing }: Alert): readonly [Mood, string] =>
  is_enabled ? (is_firing ? ['wary', 'fired'] : ['good', 'active']) : ['quiet', 'disabled']

const TYPES: Readonly<Record<string, string>> = {
  'alert.balance_below': 'Balance',
  'alert.daily_spend_above': 'Spend of a day',
  'alert.key_expires': 'Key expires',
  'alert.key_limit_used': 'Limit or budget',
  'alert.test': 'Test',
}
export const typeWords = (type: string): string => TYPES[type] ?? type

/** The state of a delivery: its mood, its word, and a detail. */
export function deliveryWords({ state, attempts, next_at, last_problem }: Delivery, nowMs: number): readonly [Mood, string, string] {
  const problem = last_problem === null ? '' : problemWords(last_problem)
  switch (state) {
    case 'delivered':
      return ['good', 'delivered', attempts > 1 ? `at try ${attempts}` : '']
    case 'failed':
      return ['bad', 'failed', problem]
    case 'waiting':
      if (attempts === 0 || next_at === null) return ['quiet', 'sending', '']
      return ['wary', 'retrying', `${problem} Next try ${Date.parse(next_at) <= nowMs ? 'now' : showAgo(next_at, nowMs)}.`]
  }
}
