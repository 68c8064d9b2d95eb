/**
 * The hour in which the only writer admits requests: that of its clock, which opens no earlier window again while it is a little behind. A clock that was wrong is not waited for: the windows
 * of all keys are read again. Pure state, without a clock. Rules: money.md "Budgets".
 */

import { isBehind } from '../../core/spending.ts'
import { presentHour, steppedHours } from '../../core/windows.ts'
import type { KeyWallets } from './key-wallets.ts'
import type { KeyWallet } from './wallet.ts'

export class WriterHour {
  readonly #keys: Pick<KeyWallets, 'setAllIndeterminate'>
  readonly #onStep: (hours: number) => void
  #newest = 0
  /** This process's monotonic time when the newest hour was set. */
  #setAtMs = 0

  /** `onStep`: called with the hours by which the clock stepped, where they are more than it is waited for. */
  constructor(keys: Pick<KeyWallets, 'setAllIndeterminate'>, onStep: (hours: number) => void) {
    this.#keys = keys
    this.#onStep = onStep
  }

  /** The hour whose windows count while the clock says this one. */
  at = (clock: number): number => presentHour(this.#newest, clock)

  /** The hour in which a request of the key is admitted; undefined: the key must be read first. */
  of(key: KeyWallet): number | undefined {
    const { plan, account } = key
    // The rows of a key may be of a later hour than the clock's; what was only looked at while the clock was wrong is no row.
    const hour = Math.max(this.#newest, key.spans.hour, plan.spans.hour, account.spans.hour)
    if (presentHour(hour, this.#newest) !== hour) return undefined
    this.#newest = hour
    return isBehind(key, hour) || isBehind(plan, hour) || isBehind(account, hour) ? undefined : hour
  }

  /** To be called before each request. `nowMs`: monotonic. */
  turn(clock: number, nowMs: number): void {
    const hour = this.at(clock)
    if (hour === this.#newest) return
    const stepped = this.#newest === 0 ? 0 : steppedHours(hour - this.#newest, nowMs - this.#setAtMs)
    if (hour < this.#newest) this.#keys.setAllIndeterminate()
    this.#newest = hour
    this.#setAtMs = nowMs
    if (stepped !== 0) this.#onStep(stepped)
  }
}
