/**
 * What running requests have reserved, in sums by key: what pages show of many holds, and what a relay says of its own each second. The holds themselves are asked for by account.
 * Rules: processes.md "Once"; operator.md "Socket".
 */

import { type Picos, picos, ZERO } from '../core/money.ts'
import type { Hold } from '../ledger/ledger.ts'

/** The keys that have something running, and no others. */
export type HeldByKey = readonly (readonly [accountId: string, keyId: string, count: number, amountPicos: Picos])[]

export type HeldSum = Readonly<{ count: number; amountPicos: Picos }>

const NONE: HeldSum = { count: 0, amountPicos: ZERO }

export const heldByKey = (holds: readonly Hold[]): HeldByKey =>
  summed(holds.map(({ accountId, keyId, amountPicos }) => [accountId, keyId, 1, amountPicos] as const))

/** Adds up what several processes have reserved for the same key. */
export function summed(rows: HeldByKey): HeldByKey {
  const sums = new Map<string, [string, string, number, Picos]>()
  for (const [accountId, keyId, count, amountPicos] of rows) {
    const sum = sums.get(keyId)
    if (sum === undefined) {
      sums.set(keyId, [accountId, keyId, count, amountPicos])
      continue
    }
    sum[2] += count
    sum[3] = picos(sum[3] + amountPicos)
  }
  return [...sums.values()]
}

/** Without an account: of all. */
export const heldIn = (held: HeldByKey, accountId?: string): HeldSum =>
  held.reduce(
    (sum, [account, , count, amountPicos]) =>
      accountId === undefined || account === accountId
        ? { count: sum.count + count, amountPicos: picos(sum.amountPicos + amountPicos) }
        : sum,
    NONE,
  )

/** The number of running requests of each key. */
export const runningByKey = (held: HeldByKey): ReadonlyMap<string, number> => new Map(held.map(([, keyId, count]) => [keyId, count]))
