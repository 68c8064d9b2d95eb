/** The time by which windows count: the only writer's, or on a shared ledger that of the ledger's clock as far as it is known. Rules: money.md "Budgets". */

import { HOUR_MS } from '../../core/windows.ts'
import type { Wallets } from './wallets.ts'

/** What operators are told of a clock that stepped by so many hours. */
export const stepText = (hours: number): string =>
  `the clock by which budgets count went ${hours < 0 ? 'back' : 'ahead'} by ${Math.abs(hours)} hours at once, and their windows follow it: ` +
  'is it right? What was spent in hours to come counts when they come'

export class WindowClock {
  readonly #wallets: Pick<Wallets, 'hourAt'>
  readonly #now: () => number

  /** `now`: Unix milliseconds. */
  constructor(wallets: Pick<Wallets, 'hourAt'>, now: () => number) {
    this.#wallets = wallets
    this.#now = now
  }

  /** Whole hours since 1970. */
  get hour(): number {
    return this.#wallets.hourAt(this.#now(), performance.now())
  }

  /** A moment in the present windows, for the reading of their sums. */
  get timeMs(): number {
    return this.hour * HOUR_MS
  }
}
