/**
 * Alerts: what each kind watches, and when it fires: once for each time that a figure passes its threshold, a crossing. An alert that fired is remembered by
 * a mark that names the crossing, so the same crossing never fires again, and a new one – another day, another expiry, another limit, below again after a
 * top-up – always does. Rules: pages.md "Alerts".
 */

import type { Picos } from './money.ts'
import type { WindowBalance } from './spending.ts'
import { DAY_MS, dayAt } from './utc.ts'
import { PERS } from './windows.ts'

export type AlertRule =
  /** The account's balance. */
  | Readonly<{ kind: 'balance_below'; thresholdPicos: Picos }>
  /** What one UTC day has cost so far: of the account, or of the key `keyId`. */
  | Readonly<{ kind: 'daily_spend_above'; thresholdPicos: Picos; keyId: string | null }>
  /** A key of the account ends within `days`; `keyId` null: any key of the account. */
  | Readonly<{ kind: 'key_expires'; days: number; keyId: string | null }>
  /** `percent` of a key's limit is used, or of a budget in its present window; `keyId` null: of any key, or of the account. */
  | Readonly<{ kind: 'key_limit_used'; percent: number; keyId: string | null }>

/** An account as one read of the ledger found it. */
export type AccountFacts = Readonly<{
  /** Unix milliseconds of the read; "today" is the UTC day of this moment. */
  at: number
  balancePicos: Picos
  spentTodayPicos: Picos
  keys: readonly KeyFacts[]
  /** Of the account's own budgets; absent: they were not read. */
  windows?: readonly BudgetWindow[]
  /** Of the budgets that plans have for the account over its keys of the plan; absent: they were not read. */
  plans?: readonly PlanFacts[]
}>

type PlanFacts = Readonly<{ name: string; windows: readonly BudgetWindow[] }>

/** A budget, with what was spent in its present window. */
export type BudgetWindow = Omit<WindowBalance, 'of' | 'heldPicos'>

export type KeyFacts = Readonly<{
  id: string
  name: string
  isActive: boolean
  /** Unix milliseconds; null: never. */
  expiresAt: number | null
  limitPicos: Picos | null
  spentPicos: Picos
  spentTodayPicos: Picos
  /** Of the key's own budgets; absent: they were not read. */
  windows?: readonly BudgetWindow[]
}>

/** The marks of crossings that fired and have not ended, by subject: a key's id, or '' for the account, or a plan's name behind `plan `; for a budget, the length of its window follows. */
export type Marks = ReadonlyMap<string, string>

/** A figure has passed its threshold. `key` is absent when the figure is the account's, `window` when it is not of a budget; `plan`: whose budget it is. */
export type Crossing = Readonly<{ mark: string; key?: KeyFacts; window?: BudgetWindow; plan?: string }>

export type Judgement = Readonly<{ crossings: readonly Crossing[]; marks: Marks }>

/** The crossings that a rule finds, and the marks that the caller must store together with them, in one transaction. A key that the facts do not name keeps its mark. */
export function judge(rule: AlertRule, facts: AccountFacts, before: Marks): Judgement {
  const marks = new Map(before)
  const crossings: Crossing[] = []
  const look = (subject: string, mark: string | undefined, about: Omit<Crossing, 'mark'>): void => {
    if (mark === undefined) marks.delete(subject)
    else if (before.get(subject) !== mark) {
      marks.set(subject, mark)
      crossings.push({ mark, ...about })
    }
  }
  if (isOfAccount(rule)) look('', accountMark(rule, facts), {})
  else for (const key of keysOf(rule, facts)) look(key.id, keyMark(rule, key, facts.at), { key })
  if (rule.kind === 'key_limit_used') for (const { subject, mark, about } of budgetLooks(rule, facts, before)) look(subject, mark, about)
  return { crossings, marks }
}

/** The one key that the rule is about; null: the account, or any of its keys. */
export const judgesKey = (rule: AlertRule): string | null => (rule.kind === 'balance_below' ? null : rule.keyId)

const isOfAccount = (rule: AlertRule): boolean =>
  rule.kind === 'balance_below' || (rule.kind === 'daily_spend_above' && rule.keyId === null)

const keysOf = (rule: AlertRule, { keys }: AccountFacts): readonly KeyFacts[] =>
  judgesKey(rule) === null ? keys : keys.filter(({ id }) => id === judgesKey(rule))

/** Undefined: the account's figure has not passed the threshold. */
function accountMark(rule: AlertRule, { at, balancePicos, spentTodayPicos }: AccountFacts): string | undefined {
  if (rule.kind === 'balance_below') return balancePicos < rule.thresholdPicos ? 'below' : undefined
  return rule.kind === 'daily_spend_above' && spentTodayPicos > rule.thresholdPicos ? `day ${dayAt(at)}` : undefined
}

function keyMark(rule: AlertRule, key: KeyFacts, at: number): string | undefined {
  switch (rule.kind) {
    case 'daily_spend_above':
      return key.spentTodayPicos > rule.thresholdPicos ? `day ${dayAt(at)}` : undefined
    case 'key_expires':
      return endsWithin(key, at, rule.days * DAY_MS) ? `expires ${key.expiresAt}` : undefined
    case 'key_limit_used':
      return isUsed(key, rule.percent) ? `limit ${key.limitPicos}` : undefined
    case 'balance_below':
      return undefined
  }
}

/** A key that has ended, or that its owner has switched off, needs no warning. */
const endsWithin = ({ expiresAt, isActive }: KeyFacts, at: number, withinMs: number): boolean =>
  isActive && expiresAt !== null && at < expiresAt && expiresAt - at <= withinMs

const isUsed = ({ limitPicos, spentPicos, isActive }: KeyFacts, percent: number): boolean =>
  isActive && limitPicos !== null && limitPicos > 0n && spentPicos * 100n >= limitPicos * BigInt(percent)

type LimitRule = Extract<AlertRule, { kind: 'key_limit_used' }>
type BudgetLook = Readonly<{ subject: string; mark: string | undefined; about: Omit<Crossing, 'mark'> }>

/** Each length of a window has a subject of its own, so that one that turned, or a budget that was taken away, fires no more. */
function budgetLooks(rule: LimitRule, facts: AccountFacts, before: Marks): readonly BudgetLook[] {
  const looksAt = (
    windows: readonly BudgetWindow[] | undefined,
    { key, plan }: Pick<Crossing, 'key' | 'plan'> = {},
  ): readonly BudgetLook[] =>
    (windows === undefined ? [] : PERS).map((per) => {
      const subject = `${plan === undefined ? (key?.id ?? '') : `plan ${plan}`} ${per}`
      const window = windows?.find((one) => one.per === per)
      const mark = window === undefined ? undefined : budgetMark(window, rule.percent)
      const whose = { ...(key === undefined ? {} : { key }), ...(plan === undefined ? {} : { plan }) }
      const about = { ...whose, ...(window === undefined ? {} : { window }) }
      // A key that is switched off needs no warning, but what it was told of this window stays told when it is switched on again.
      return { subject, mark: key?.isActive === false && before.get(subject) !== mark ? undefined : mark, about }
    })
  const ofKeys = keysOf(rule, facts).flatMap((key) => looksAt(key.windows, { key }))
  if (rule.keyId !== null) return ofKeys
  return [...looksAt(facts.windows), ...(facts.plans ?? []).flatMap(({ name, windows }) => looksAt(windows, { plan: name })), ...ofKeys]
}

/** Names the window by its end, which comes once. Undefined: not so much of the budget is used. */
const budgetMark = ({ capPicos, spentPicos, resetsAt }: BudgetWindow, percent: number): string | undefined =>
  capPicos > 0n && spentPicos * 100n >= capPicos * BigInt(percent) ? `budget ${capPicos} until ${resetsAt}` : undefined
