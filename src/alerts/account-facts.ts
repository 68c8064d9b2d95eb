/**
 * Gathers the facts that an account's alert rules need, by questions to the ledger's reader: no more facts than the rules need, and those of a bounded number of keys.
 * Rules: pages.md "Alerts".
 */

import { type AccountFacts, type AlertRule, type BudgetWindow, judgesKey, type KeyFacts } from '../core/alerts.ts'
import { budgetsOf, type Catalog, plansWithBudgets } from '../core/catalog.ts'
import { type Picos, ZERO } from '../core/money.ts'
import { dayAt } from '../core/utc.ts'
import { HOUR_MS, hourAt, presentHour } from '../core/windows.ts'
import type { ListedKey } from '../ledger/reading/account-reports.ts'
import type { Reports } from '../ledger/reading/reports.ts'
import { sumSpend, wholeSpend } from '../ledger/reading/spend.ts'
import { spentIn } from '../ledger/reading/window-balances.ts'
import type { AlertFacts } from './watch.ts'

/** All looks at alerts share one turn of the reading thread, so they do not delay people's reads. */
const CLIENT = 'alerts'
const KEYS_A_PAGE = 200
/** The most keys that an alert about any key looks at: the newest ones. */
const KEYS_MAX = 1_000

/** `catalog`: as it is configured now, for the budgets of plans. */
export function factsFrom(reports: Reports, now: () => number, catalog: () => Catalog): AlertFacts {
  let hour = 0
  return async (accountId, rules) => {
    const at = now()
    // A clock that is a little behind does not bring back a window that has turned.
    hour = presentHour(hour, hourAt(at))
    const account = await reports.ask(CLIENT, { kind: 'account', accountId })
    if (typeof account !== 'object') return undefined
    const days = { accountId, day: dayAt(at) }
    const spentTodayPicos = rules.some(isOfDay) ? await spentOn(reports, days) : ZERO
    const keys = await keysFor(reports, accountId, rules)
    const windows = await windowsFor(reports, { accountId, hour }, rules)
    const plans = await plansFor(reports, { accountId, hour, catalog: catalog() }, rules)
    if (spentTodayPicos === undefined || keys === undefined || windows === undefined || plans === undefined) return undefined
    const facts: KeyFacts[] = []
    for (const key of keys) {
      const isCounted = rules.some((rule) => rule.kind === 'daily_spend_above' && rule.keyId === key.id)
      const spent = isCounted ? await spentOn(reports, { ...days, keyId: key.id }) : ZERO
      if (spent === undefined) return undefined
      facts.push({ ...factsOf(key, spent), ...windows(key.id) })
    }
    return { at, balancePicos: account.balancePicos, spentTodayPicos, keys: facts, ...windows(null), ...plans } satisfies AccountFacts
  }
}

const isOfDay = (rule: AlertRule): boolean => rule.kind === 'daily_spend_above' && rule.keyId === null
const isOfAnyKey = (rule: AlertRule): boolean => (rule.kind === 'key_expires' || rule.kind === 'key_limit_used') && rule.keyId === null

const factsOf = ({ id, name, isActive, expiresAt, limitPicos, spentPicos }: ListedKey, spentTodayPicos: Picos): KeyFacts => ({
  id,
  name,
  isActive,
  expiresAt,
  limitPicos,
  spentPicos,
  spentTodayPicos,
})

/** What was spent on a day; undefined: the ledger cannot be read now. */
async function spentOn(reports: Reports, { day, ...of }: { accountId: string; keyId?: string; day: number }): Promise<Picos | undefined> {
  const rows = await wholeSpend(reports, CLIENT, { kind: 'spend', by: 'day', fromDay: day, toDay: day, ...of })
  return typeof rows === 'object' ? sumSpend(rows).costPicos : undefined
}

/** The keys that rules name; all keys where a rule is about any. */
async function keysFor(reports: Reports, accountId: string, rules: readonly AlertRule[]): Promise<readonly ListedKey[] | undefined> {
  const keys = new Map<string, ListedKey>()
  for (let after: string | undefined; rules.some(isOfAnyKey) && keys.size < KEYS_MAX; ) {
    const from = after === undefined ? {} : { after }
    const page = await reports.ask(CLIENT, { kind: 'accountKeys', accountId, limit: KEYS_A_PAGE, ...from })
    if (typeof page !== 'object') return undefined
    for (const key of page.rows) keys.set(key.id, key)
    if (page.next === null) break
    after = page.next
  }
  const named = new Set(rules.flatMap((rule) => judgesKey(rule) ?? []))
  for (const keyId of named) {
    if (keys.has(keyId)) continue
    const key = await reports.ask(CLIENT, { kind: 'accountKey', accountId, keyId })
    if (typeof key === 'string') return undefined
    if (key !== undefined) keys.set(keyId, key)
  }
  return [...keys.values()]
}

/** What plans have for the account over its keys of the plan; read only where an alert is about any key. */
async function plansFor(
  reports: Reports,
  { accountId, hour, catalog }: Readonly<{ accountId: string; hour: number; catalog: Catalog }>,
  rules: readonly AlertRule[],
): Promise<Pick<AccountFacts, 'plans'> | undefined> {
  if (!rules.some((rule) => rule.kind === 'key_limit_used' && rule.keyId === null)) return {}
  const plans = plansWithBudgets(catalog)
  if (plans.length === 0) return { plans: [] }
  const found = await reports.ask(CLIENT, { kind: 'budgets', accountId, keyId: null, plans, now: hour * HOUR_MS })
  if (typeof found !== 'object') return undefined
  return {
    plans: plans.map((name, index) => ({
      name,
      windows: spentIn(found.hour, found.plans[index] ?? [], budgetsOf(catalog, name), 'plan').map(
        ({ of: _, heldPicos: _held, ...window }) => window,
      ),
    })),
  }
}

type WindowsOf = (keyId: string | null) => Readonly<{ windows?: readonly BudgetWindow[] }>

/** The windows of budgets by key, and under null those of the account; a key of which it is not known whether it has budgets has none here. */
async function windowsFor(
  reports: Reports,
  of: Readonly<{ accountId: string; hour: number }>,
  rules: readonly AlertRule[],
): Promise<WindowsOf | undefined> {
  const asked = new Set(rules.flatMap((rule) => (rule.kind === 'key_limit_used' ? [rule.keyId] : [])))
  const found = new Map<string | null, BudgetWindow[]>([...asked].map((keyId) => [keyId, []]))
  let isWhole = false
  for (const keyId of asked) {
    const answer = await reports.ask(CLIENT, { kind: 'budgetWindows', ...of, ...(keyId === null ? {} : { keyId }) })
    if (typeof answer !== 'object') return undefined
    if (keyId === null) isWhole = answer.isWhole
    for (const { keyId: id, ...window } of answer.windows)
      found.set(id, [...(found.get(id) ?? []).filter(({ per }) => per !== window.per), window])
  }
  return (keyId) => {
    const windows = found.get(keyId) ?? (isWhole ? [] : undefined)
    return windows === undefined ? {} : { windows }
  }
}
