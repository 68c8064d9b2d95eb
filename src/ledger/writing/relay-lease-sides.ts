/**
 * One side of a relay's move: what is left of a balance or limit and of its windows, beside what relays have leased of it. A lease names the hour for which it was granted: in a window that
 * began later only what is granted for that hour counts, in any other all of it. Rules: ledger.md "Leases"; money.md "Budgets".
 */

import { picos } from '../../core/money.ts'
import type { WindowUsed } from '../../core/spending.ts'
import { type Budgets, HOUR_MS, PERS, windowAt } from '../../core/windows.ts'
import { type AskedWindows, earlierOf, type HeldByHour, type LeaseSide } from '../lease-move.ts'

/** What a budget leaves of its present window; `isNew`: the window began with the present hour. */
export type LeasedWindow = Readonly<{ left: bigint; isNew: boolean; used: WindowUsed }>
/** What budgets leave in the windows of the hour; `spentPicos`: in all windows, in the order of `PERS`. */
export const leasedWindows = (hour: number, spentPicos: readonly bigint[], budgets: Budgets): readonly LeasedWindow[] =>
  budgets.map(({ per, capPicos }) => {
    const { start, end } = windowAt(per, hour)
    return { left: capPicos - (spentPicos[PERS.indexOf(per)] ?? 0n), isNew: start === hour, used: { per, resetsAt: end * HOUR_MS } }
  })

/** `left`: of the balance, or of the limit; undefined: there is none. */
export type LeasedRow = Readonly<{ left: bigint | undefined; windows: readonly LeasedWindow[] }>

/** A relay's lease. `moved`: the number of the last move that changed it. `currentPicos`: the part that was granted for requests of `hour`. */
type Part = { amountPicos: bigint; moved: number; hour: number; currentPicos: bigint }
/** Leases by the boot of the relay. */
export type Parts = Map<number, Part>

/** `earlier`: the part of `runs` that was admitted before the present hour. `othersNow`: what others have leased for the present hour. */
export type Side = Readonly<{
  row: LeasedRow
  parts: Parts
  own: Part | undefined
  others: bigint
  othersNow: bigint
  runs: bigint
  earlier: bigint
}>
export type View = Side & Readonly<{ free: bigint; share: bigint; isSmall: boolean; isUsedUp: boolean }>

type By = Readonly<{
  boot: number
  hour: number
  asked: AskedWindows | undefined
  runs: bigint | null
  held: HeldByHour | undefined
}>

/** Beside what a request holds, at most `SHARE_REQUESTS_MAX` times as much is leased, and at most one part in `SHARE_PART` of what is free, divided by the number of relays. */
const SHARE_REQUESTS_MAX = 4_096n
const SHARE_PART = 4n

export const planName = (accountNumber: number, plan: string): string => `${accountNumber} ${plan}`

export function sideOf(parts: Parts, row: LeasedRow, { boot, hour, asked, runs, held }: By): Side {
  let others = 0n
  let othersNow = 0n
  for (const [of, part] of parts) {
    if (of === boot) continue
    others += part.amountPicos
    if (part.hour >= hour) othersNow += smaller(part.amountPicos, part.currentPicos)
  }
  return { row, parts, own: parts.get(boot), others, othersNow, runs: runs ?? 0n, earlier: earlierOf(asked?.hour ?? null, hour, held) }
}

export function viewOf(side: Side, amountPicos: bigint, relays: number): View {
  const { row, others, othersNow, runs, earlier } = side
  let free = row.left === undefined ? undefined : row.left - others - runs
  for (const { left, isNew } of row.windows) {
    const freeOfWindow = isNew ? left - othersNow - (runs - earlier) : left - others - runs
    free = free === undefined ? freeOfWindow : smaller(free, freeOfWindow)
  }
  const known = free ?? 0n
  const share = smaller((known - amountPicos) / (SHARE_PART * BigInt(Math.max(1, relays))), SHARE_REQUESTS_MAX * amountPicos)
  const isUsedUp = (row.left !== undefined && row.left <= 0n) || row.windows.some(({ left }) => left <= 0n)
  return { ...side, free: known, share, isSmall: share < amountPicos, isUsedUp }
}

/** Of the windows that are used up, the one that ends last; undefined where a balance or limit is used up. */
export function usedUpOf(views: readonly View[]): WindowUsed | undefined {
  if (views.some(({ row }) => row.left !== undefined && row.left <= 0n)) return undefined
  const used = views.flatMap(({ row }) => row.windows.filter(({ left }) => left <= 0n).map((window) => window.used))
  return used.reduce<WindowUsed | undefined>((last, one) => (last === undefined || one.resetsAt > last.resetsAt ? one : last), undefined)
}

export function grow({ own, parts, runs, earlier, share }: View, boot: number, amountPicos: bigint, number: number, hour: number): void {
  const before = own?.amountPicos ?? 0n
  const need = runs + amountPicos - before
  const more = need <= 0n ? 0n : need + (share >= amountPicos ? share : 0n)
  const amount = before + more
  parts.set(boot, { amountPicos: amount, moved: number, hour: Math.max(hour, own?.hour ?? 0), currentPicos: amount - earlier })
}

export function shrink(own: Part | undefined, runs: bigint | null, number: number): void {
  if (own === undefined || runs === null || own.moved > number) return
  own.amountPicos = smaller(own.amountPicos, runs)
  own.moved = number
}

/** The part of the lease that balance, limit and windows cover beside the leases of others. */
export function backedOf({ row, parts, others, othersNow, earlier }: Side, boot: number, isSmall: boolean): LeaseSide {
  const amount = parts.get(boot)?.amountPicos ?? 0n
  let backed = row.left === undefined ? amount : smaller(amount, row.left - others)
  for (const { left, isNew } of row.windows) backed = smaller(backed, isNew ? left - othersNow + earlier : left - others)
  return { backedPicos: picos(backed), hasMore: backed < amount, isSmall }
}

const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b)
