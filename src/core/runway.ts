/** How long a balance lasts at the pace of the last days. Rules: money.md "Runway". */

import { type Picos, picos, sumPicos, ZERO } from './money.ts'

/** `days`: whole days that the balance lasts, null where nothing was spent. `aDayPicos`: the pace, in picodollars a day. */
export type Runway = Readonly<{ days: number | null; aDayPicos: Picos }>

/**
 * `past`: what each of the last whole days cost, the newest first; `today`: what today cost so far. The pace is the mean of the days since the first that cost
 * something, or what today has cost where that is already more.
 */
export function runwayOf(balance: Picos, past: readonly Picos[], today: Picos): Runway {
  const inUse = past.length - [...past].reverse().findIndex((cost) => cost > ZERO)
  const days = past.some((cost) => cost > ZERO) ? inUse : 0
  const mean = days === 0 ? ZERO : picos(sumPicos(...past) / BigInt(days))
  const aDayPicos = today > mean ? today : mean
  if (aDayPicos === ZERO) return { days: null, aDayPicos }
  return { days: balance <= ZERO ? 0 : Number(balance / aDayPicos), aDayPicos }
}
