/**
 * A timer wheel: it sorts waiters by the tick in which their time comes, so that entering, leaving and a tick cost the same however many wait. The wheel has no clock:
 * its driver turns it. An event that only postpones a time allocates nothing: the waiter checks its time when its turn comes, and enters again.
 */

/** A waiter. It can be in one wheel, at one place. Only the wheel writes `tick` and `tickPlace`. */
export interface Timed {
  tick: number
  /** Where it stands among those of its tick. */
  tickPlace?: number
  /** Called when its time has come. The waiter has left the wheel and may enter again. */
  onTime(nowMs: number): void
}

/** The `tick` of a waiter that is in no wheel. */
export const NO_TICK = -1

/** A tick, and so the most by which a waiter is called late. */
export const TICK_MS = 16
const SLOTS = 512

export class TimerWheel {
  /** Arrays, for what core/in-flight.ts says of sets: a waiter refers to a whole stream. */
  readonly #slots: readonly Timed[][] = Array.from({ length: SLOTS }, () => [])
  readonly #onFirst: () => void
  #lastTick = 0
  #size = 0

  /** `onFirst` is called when the empty wheel gets its first waiter: the driver must then turn it. */
  constructor(onFirst: () => void = () => undefined) {
    this.#onFirst = onFirst
  }

  get isEmpty(): boolean {
    return this.#size === 0
  }

  /** The wheel calls `timed` when `dueMs` has come, or on the next turn when it already has. Replaces the waiter's earlier time. */
  set(timed: Timed, dueMs: number): void {
    this.drop(timed)
    timed.tick = Math.max(this.#lastTick + 1, Math.ceil(dueMs / TICK_MS))
    timed.tickPlace = this.#slot(timed.tick).push(timed) - 1
    this.#size++
    if (this.#size === 1) this.#onFirst()
  }

  drop(timed: Timed): void {
    if (timed.tick === NO_TICK) return
    const slot = this.#slot(timed.tick)
    const last = slot.pop()
    if (last !== undefined && last !== timed) {
      const place = timed.tickPlace ?? 0
      slot[place] = last
      last.tickPlace = place
    }
    timed.tick = NO_TICK
    this.#size--
  }

  /** Calls every waiter whose time has come by `nowMs`. */
  turn(nowMs: number): void {
    const tick = Math.floor(nowMs / TICK_MS)
    // However long the pause was, one round passes every slot.
    let at = Math.max(this.#lastTick + 1, tick - SLOTS + 1)
    this.#lastTick = Math.max(this.#lastTick, tick)
    for (; at <= tick; at++) this.#turnSlot(this.#slot(at), tick, nowMs)
  }

  /** From the end, since the last one takes the place of one that leaves: so none is passed over, whatever enters and leaves meanwhile. */
  #turnSlot(slot: readonly Timed[], tick: number, nowMs: number): void {
    for (let place = slot.length - 1; place >= 0; place--) {
      const timed = slot[place]
      if (timed !== undefined && timed.tick <= tick) this.#call(timed, nowMs)
    }
  }

  #call(timed: Timed, nowMs: number): void {
    this.drop(timed)
    timed.onTime(nowMs)
  }

  #slot(tick: number): Timed[] {
    const slot = this.#slots[tick % SLOTS]
    if (slot === undefined) throw new Error(`no tick: ${tick}`)
    return slot
  }
}
