/** The time by which windows count: the only writer's, or on a shared ledger that of the ledger's clock as far as it is known. Rules: money.md "Budgets". */

import { HOUR_MS } from '../../core/windows.ts'
import type { Wallets } from './wallets.ts'

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
