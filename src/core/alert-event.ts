/**
 * The notification of an alert that fired: the JSON body of the webhook, in the shape of https://www.standardwebhooks.com (type, timestamp, data), and the
 * mail. The mail's subject holds no text that a person typed, such as a key's name. Rules: pages.md "Alerts", "Webhooks".
 */

import type { AccountFacts, AlertRule, BudgetWindow, Crossing } from './alerts.ts'
import { parseUsd, picos, roundHalfEven, toExactUsdText, ZERO } from './money.ts'
import { isoTime } from './utc.ts'
import type { Per } from './windows.ts'

export type AlertEvent = Readonly<{
  type: `alert.${AlertRule['kind']}` | 'alert.test'
  /** ISO 8601: when the gateway read the figures that fired the alert, or sent the test. */
  timestamp: string
  data: Readonly<{
    alert_id: string | null
    account_id: string
    /** Exact decimals of USD. */
    threshold_usd?: string
    balance_usd?: string
    spent_today_usd?: string
    spent_usd?: string
    limit_usd?: string
    budget_usd?: string
    /** The length of the budget's window. */
    per?: Per
    /** When the window ends and the whole budget is there again. */
    resets_at?: string
    days?: number
    percent?: number
    expires_at?: string
    key?: Readonly<{ id: string; name: string }>
    /** The budget is that of a plan, over the account's keys of it. */
    plan?: string
  }>
}>

export type FiredAlert = Readonly<{ alertId: string; accountId: string; rule: AlertRule; facts: AccountFacts; crossing: Crossing }>

export function eventOf({ alertId, accountId, rule, facts, crossing }: FiredAlert): AlertEvent {
  const { key } = crossing
  const about = key === undefined ? {} : { key: { id: key.id, name: key.name } }
  const data = { alert_id: alertId, account_id: accountId, ...about, ...figuresOf(rule, facts, crossing) }
  return { type: `alert.${rule.kind}`, timestamp: isoTime(facts.at), data }
}

/** The event that the test button sends. */
export const testEventOf = (accountId: string, at: number): AlertEvent => ({
  type: 'alert.test',
  timestamp: isoTime(at),
  data: { alert_id: null, account_id: accountId },
})

function figuresOf(rule: AlertRule, facts: AccountFacts, { key, window, plan }: Crossing): Partial<AlertEvent['data']> {
  switch (rule.kind) {
    case 'balance_below':
      return { threshold_usd: toExactUsdText(rule.thresholdPicos), balance_usd: toExactUsdText(facts.balancePicos) }
    case 'daily_spend_above':
      return {
        threshold_usd: toExactUsdText(rule.thresholdPicos),
        spent_today_usd: toExactUsdText(key?.spentTodayPicos ?? facts.spentTodayPicos),
      }
    case 'key_expires':
      return { days: rule.days, ...(key?.expiresAt == null ? {} : { expires_at: isoTime(key.expiresAt) }) }
    case 'key_limit_used':
      if (window !== undefined) return { percent: rule.percent, ...(plan === undefined ? {} : { plan }), ...figuresOfWindow(window) }
      return {
        percent: rule.percent,
        ...(key?.limitPicos == null ? {} : { limit_usd: toExactUsdText(key.limitPicos), spent_usd: toExactUsdText(key.spentPicos) }),
      }
  }
}

const figuresOfWindow = ({ per, capPicos, spentPicos, resetsAt }: BudgetWindow): Partial<AlertEvent['data']> => ({
  per,
  budget_usd: toExactUsdText(capPicos),
  spent_usd: toExactUsdText(spentPicos),
  resets_at: isoTime(resetsAt),
})

export type AlertMail = Readonly<{ subject: string; text: string }>

/** `page` is the URL of the page on which the reader changes or deletes the alert. `accountName`: '' where the account has none. */
export function mailOf(
  { type, timestamp, data }: AlertEvent,
  { page, accountName }: Readonly<{ page: string; accountName: string }>,
): AlertMail {
  const { subject, line } = wordsOf(type, data)
  const key = data.key === undefined ? '' : `Key: ${plain(data.key.name)} (${data.key.id})\n`
  const plan = data.plan === undefined ? '' : `Plan: ${plain(data.plan)}\n`
  const account = accountName === '' ? data.account_id : `${plain(accountName)} (${data.account_id})`
  return { subject, text: `${line}\n\n${key}${plan}Account: ${account}\nSeen: ${timestamp}\n\nChange this alert: ${page}\n` }
}

function wordsOf(type: AlertEvent['type'], data: AlertEvent['data']): Readonly<{ subject: string; line: string }> {
  switch (type) {
    case 'alert.balance_below':
      return {
        subject: `Balance below ${money(data.threshold_usd)}`,
        line: `The balance is ${moneyBeside(data.balance_usd, data.threshold_usd)}.`,
      }
    case 'alert.daily_spend_above':
      return {
        subject: `More than ${money(data.threshold_usd)} spent today`,
        line: `Today (UTC) ${moneyBeside(data.spent_today_usd, data.threshold_usd)} were spent so far.`,
      }
    case 'alert.key_expires':
      return {
        subject: `A key expires within ${data.days === 1 ? 'a day' : `${data.days} days`}`,
        line: `The key expires at ${data.expires_at}.`,
      }
    case 'alert.key_limit_used':
      if (data.per !== undefined) return wordsOfBudget(data)
      return {
        subject: `A key has used ${data.percent} % of its limit`,
        line: `Of its limit of ${money(data.limit_usd)} the key has used ${moneyBeside(data.spent_usd, data.limit_usd)}.`,
      }
    case 'alert.test':
      return { subject: 'Test of an alert', line: 'This is a test. Nothing has happened.' }
  }
}

function wordsOfBudget({ key, plan, percent, per, budget_usd, spent_usd, resets_at }: AlertEvent['data']) {
  const next = `The next ${per} begins at ${resets_at}.`
  if (plan !== undefined)
    return {
      subject: `The account has used ${percent} % of its plan's budget per ${per}`,
      line: `Of the budget of ${money(budget_usd)} per ${per} (UTC) that its plan has for it, the account has used ${moneyBeside(spent_usd, budget_usd)} with its keys of the plan. ${next}`,
    }
  const who = key === undefined ? 'account' : 'key'
  return {
    subject: `${key === undefined ? 'The account' : 'A key'} has used ${percent} % of its budget per ${per}`,
    line: `Of its budget of ${money(budget_usd)} per ${per} (UTC) the ${who} has used ${moneyBeside(spent_usd, budget_usd)}. ${next}`,
  }
}

const CENT = 10_000_000_000n

/** An exact amount in whole cents; what is less than a cent has all its digits. */
function money(exact = '0'): string {
  const amount = parseUsd(exact) ?? ZERO
  const size = amount < ZERO ? picos(-amount) : amount
  const [whole = '0', cents = ''] = toExactUsdText(size < CENT ? size : picos(roundHalfEven(size, CENT) * CENT)).split('.')
  return `${amount < ZERO ? '-' : ''}$${whole}.${cents.padEnd(2, '0')}`
}

/** An amount in whole cents where it is still seen to be above or below the other; else with all its digits: a balance of $4.996 is below $5.00 and not $5.00. */
function moneyBeside(exact = '0', other = '0'): string {
  return parseUsd(exact) !== parseUsd(other) && money(exact) === money(other)
    ? `${exact.startsWith('-') ? '-' : ''}$${exact.replace('-', '')}`
    : money(exact)
}

/** Replaces control, format and line-break characters by spaces, so that the text stays on one line. */
const plain = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
