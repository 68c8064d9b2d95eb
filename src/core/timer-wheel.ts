/**
 * A timer wheel: waiters sorted by the tick in which their time comes, so that entering, leaving and a tick cost the same however many wait. It has no clock:
 * its driver turns it. An event that only moves a time allocates nothing: the waiter checks its time when its turn comes, and enters again.
 */

/** Enters one wheel, at one place. `tick` is the wheel's own. */
export interface Timed {
  tick: number
  /** Its time has come and it has left the wheel; it may enter again. */
  onTime(nowMs: number): void
}

/** Of `tick`: it is in no wheel. */
export const NO_TICK = -1

/** How late a time may be. */
export const TICK_MS = 16
const SLOTS = 512

export class TimerWheel {
  readonly #slots: readonly Set<Timed>[] = Array.from({ length: SLOTS }, () => new Set<Timed>())
  readonly #onFirst: () => void
  #lastTick = 0
  #size = 0

  /** `onFirst`: something waits where nothing did, so that the wheel must turn. */
  constructor(onFirst: () => void = () => undefined) {
    this.#onFirst = onFirst
  }

  get isEmpty(): boolean {
    return this.#size === 0
  }

  /** `timed` will hear when `dueMs` has come, on the next turn where it has already. Replaces its earlier time. */
  set(timed: Timed, dueMs: number): void {
    this.drop(timed)
    timed.tick = Math.max(this.#lastTick + 1, Math.ceil(dueMs / TICK_MS))
    this.#slot(timed.tick).add(timed)
    this.#size++
    if (this.#size === 1) this.#onFirst()
  }

  drop(timed: Timed): void {
    if (timed.tick === NO_TICK) return
    this.#slot(timed.tick).delete(timed)
    timed.tick = NO_TICK
    this.#size--
  }

  /** Calls everything whose time has come by `nowMs`. */
  turn(nowMs: number): void {
    const tick = Math.floor(nowMs / TICK_MS)
    // After any pause one round passes every slot.
    let at = Math.max(this.#lastTick + 1, tick - SLOTS + 1)
    this.#lastTick = Math.max(this.#lastTick, tick)
    for (; at <= tick; at++) for (const timed of this.#slot(at)) if (timed.tick <= tick) this.#call(timed, nowMs)
  }

  #call(timed: Timed, nowMs: number): void {
    this.drop(timed)
    timed.onTime(nowMs)
  }

  #slot(tick: number): Set<Timed> {
    const slot = this.#slots[tick % SLOTS]
    if (slot === undefined) throw new Error(`no tick: ${tick}`)
    return slot
  }
}
