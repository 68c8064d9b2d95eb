/**
 * What a key, an account, or an account's keys of one plan spent and hold in the present windows. A request counts in the windows in which it was admitted. Only totals are kept, and
 * beside them the parts that belong to earlier windows, so that a request within one hour changes totals alone. Rules: money.md "Budgets".
 */

import { type Picos, picos } from './money.ts'
import { type Budgets, HOUR_MS, HOURS_BEHIND_MAX, PERS, type Per, windowsAt } from './windows.ts'

/** `…Before`: the parts of the totals that requests of earlier windows spent and hold. Hours are whole hours since 1970. */
type Span = { start: number; end: number; spentBefore: bigint; heldBefore: bigint }

/**
 * The spans are those of the present hour, in the order of `PERS`. `aheadFrom`: a later hour of which something is known already, because the clock has been there and came back: that
 * may lie in each window that begins from here on, so the spans must be learned again with each hour.
 */
export type Spans = { hour: number; aheadFrom: number; readonly of: readonly Span[] }

/** The hour ahead where nothing is. */
const NEVER = Number.POSITIVE_INFINITY

/** `spentPicos`: from any beginning, such as the first receipt or the making of the wallet. */
export type Spending = { spentPicos: bigint; heldPicos: bigint; readonly spans: Spans }

/**
 * What was spent in the windows of that hour, in the order of `PERS`. `clockHour`: by the clock, where the hour is a later one. `aheadFrom`: the first hour beyond in which something was
 * spent already; null: none.
 */
export type WindowSums = Readonly<{ hour: number; clockHour: number; aheadFrom: number | null; spentPicos: readonly bigint[] }>

/** A request that is in no sum: what it holds, or cost, and the hour in which it was admitted. */
export type InFlight = Readonly<{ hour: number; heldPicos: bigint; spentPicos: bigint }>

/** Whose budget it is: the key's, that of its account over all keys, or its plan's for the account's keys of the plan. */
export const BUDGETS_OF = ['key', 'account', 'plan'] as const
export type BudgetOf = (typeof BUDGETS_OF)[number]

/** A budget, and what its present window has of it. `resetsAt`: Unix milliseconds. */
export type WindowBalance<Amount extends bigint = Picos> = Readonly<{
  of: BudgetOf
  per: Per
  capPicos: Amount
  spentPicos: Amount
  heldPicos: Amount
  resetsAt: number
}>

/** A window of which nothing is left, and when the next one begins, in Unix milliseconds. */
export type WindowUsed = Readonly<{ per: Per; resetsAt: number }>

export const NO_WINDOWS: readonly WindowBalance<never>[] = []

/** Spans in which `sums` was spent of the total. */
export function spansOf(
  spentPicos: bigint,
  { hour, aheadFrom, spentPicos: sums }: Pick<WindowSums, 'hour' | 'aheadFrom' | 'spentPicos'>,
): Spans {
  return {
    hour,
    aheadFrom: aheadFrom ?? NEVER,
    of: windowsAt(hour).map(({ start, end }, index) => ({ start, end, spentBefore: spentPicos - (sums[index] ?? 0n), heldBefore: 0n })),
  }
}

/** Begins the windows of the hour, unless it is an earlier one: time never goes back into an earlier window. */
export function turn(spending: Spending, hour: number): void {
  const { spans } = spending
  if (hour <= spans.hour) return
  spans.hour = hour
  if (spans.aheadFrom !== NEVER) spans.aheadFrom = Math.min(spans.aheadFrom, hour)
  windowsAt(hour).forEach(({ start, end }, index) => {
    const span = spans.of[index]
    if (span === undefined || span.start === start) return
    span.start = start
    span.end = end
    span.spentBefore = spending.spentPicos
    span.heldBefore = spending.heldPicos
  })
}

/**
 * To be called with what the totals have got of a request that was admitted in that hour: what it spent, and what it holds, or holds no more (negative). The hour may be ahead of the
 * spans where they were learned again behind the request's admission, and `aheadFrom` counts it since then.
 */
export function noteOfHour({ spans }: Spending, hour: number, spentPicos: bigint, heldPicos: bigint): void {
  if (hour === spans.hour) return
  for (const span of spans.of) {
    if (hour >= span.start && hour < span.end) continue
    span.spentBefore += spentPicos
    span.heldBefore += heldPicos
  }
}

/** Part of what is held that was admitted before the present hour. */
export const heldEarlier = ({ spans }: Spending): bigint => spans.of[0]?.heldBefore ?? 0n

/** Whether rows say more of the hour than the spans, which must be learned before they decide of it. */
export const isBehind = ({ spans: { hour: own, aheadFrom } }: Spending, hour: number): boolean =>
  aheadFrom !== NEVER && (hour > own || hour >= aheadFrom)

/** Whether the spans are those of a clock that was wrong: they begin anew with the sums. */
export const isOfWrongClock = ({ spans }: Spending, { clockHour }: Pick<WindowSums, 'clockHour'>): boolean =>
  spans.hour - clockHour > HOURS_BEHIND_MAX

/**
 * Sets the windows to what rows say. `inFlight`: the requests that are in no row yet; those that only hold something are needed where the spans begin anew. Sums of an earlier hour than
 * the present one say nothing of its windows.
 */
export function learnSums(spending: Spending, sums: WindowSums, inFlight: (withHolds: boolean) => readonly InFlight[]): void {
  const { spans } = spending
  const { hour, aheadFrom, spentPicos } = sums
  const isAnew = isOfWrongClock(spending, sums) || isBehind(spending, hour)
  const requests = inFlight(isAnew)
  if (!isAnew) turn(spending, hour)
  else {
    spans.hour = hour
    spans.aheadFrom = Math.min(aheadFrom ?? NEVER, ...requests.filter((one) => one.hour > hour).map((one) => one.hour))
  }
  windowsAt(hour).forEach(({ start, end }, index) => {
    const span = spans.of[index]
    if (span === undefined || (!isAnew && span.start !== start)) return
    const within = requests.filter((one) => one.hour >= start && one.hour < end)
    span.spentBefore = spending.spentPicos - (spentPicos[index] ?? 0n) - sum(within.map((one) => one.spentPicos))
    if (isAnew) Object.assign(span, { start, end, heldBefore: spending.heldPicos - sum(within.map((one) => one.heldPicos)) })
  })
}

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, amount) => total + amount, 0n)

/** The budgets with what is spent and held in their windows. */
export function balancesOf({ spentPicos, heldPicos, spans }: Spending, budgets: Budgets, of: BudgetOf): readonly WindowBalance[] {
  if (budgets.length === 0) return NO_WINDOWS
  return budgets.map(({ per, capPicos }) => {
    const { spentBefore = 0n, heldBefore = 0n, end = 0 } = spans.of[PERS.indexOf(per)] ?? {}
    return {
      of,
      per,
      capPicos,
      spentPicos: picos(spentPicos - spentBefore),
      heldPicos: picos(heldPicos - heldBefore),
      resetsAt: end * HOUR_MS,
    }
  })
}

/** Of the windows that are used up, the one that ends last: before that, a request would be refused again. */
export function usedUpOf(windows: readonly WindowBalance<bigint>[]): WindowUsed | undefined {
  let last: WindowUsed | undefined
  for (const { per, capPicos, spentPicos, resetsAt } of windows) {
    if (spentPicos >= capPicos && (last === undefined || resetsAt > last.resetsAt)) last = { per, resetsAt }
  }
  return last
}
