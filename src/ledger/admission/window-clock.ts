/** The time by which windows count: the only writer's, or on a shared ledger that of the ledger's clock as far as it is known. Rules: money.md "Budgets". */

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

  /** For the reading of windows' sums: the time, and the hour that is not gone back from. */
  get asked(): Readonly<{ now: number; hour: number }> {
    return { now: this.#now(), hour: this.hour }
  }
}
