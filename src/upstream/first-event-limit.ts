/**
 * The time that an upstream has for the first event of a stream. Nothing has gone to the client by then, so another upstream may be asked. Rules: faults.md "Time
 * limits".
 */

import { NO_TICK, type Timed, type TimerWheel } from '../core/timer-wheel.ts'
import { firstEventFault } from './fault.ts'
import type { Fault, Stop } from './upstream.ts'

/** Stops one call when its time is over, and passes the request's own stop on to the call. */
export class FirstEventLimit implements Stop, Timed {
  tick = NO_TICK
  readonly #request: Stop
  readonly #wheel: TimerWheel
  #isOver = false

  constructor(request: Stop, wheel: TimerWheel, dueMs: number) {
    this.#request = request
    this.#wheel = wheel
    wheel.set(this, dueMs)
  }

  get isStopped(): boolean {
    return this.#isOver || this.#request.isStopped
  }

  get isOverdue(): boolean {
    return this.#request.isOverdue
  }

  get listener(): (() => void) | undefined {
    return this.#request.listener
  }

  set listener(listener: (() => void) | undefined) {
    this.#request.listener = listener
  }

  onTime(): void {
    this.#isOver = true
    this.#request.listener?.()
  }

  /** Called when the call has ended, or its first event is here. Returns `taken`, or the fault that the upstream was silent where this limit ended the call. */
  ended<T extends object>(taken: T | Fault, upstream: string): T | Fault {
    this.#wheel.drop(this)
    return this.#isOver && !this.#request.isStopped ? firstEventFault(upstream) : taken
  }
}
