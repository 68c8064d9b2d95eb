/** The time limit of one upstream call, and its stop signal. Rules: contract.md "Limits"; faults.md "Time limits". */

import { NO_TICK, type Timed } from '../core/timer-wheel.ts'
import type { Stop } from '../upstream/upstream.ts'
import type { World } from '../world.ts'

/** Why an upstream call was stopped by us. */
export type StopReason = 'deadline' | 'stall' | 'leaver' | 'drain' | 'disabled' | 'write-stall' | 'done'

/** The first reason to stop is kept. */
export class CallStop implements Stop {
  listener: (() => void) | undefined
  #reason: StopReason | undefined

  get isStopped(): boolean {
    return this.#reason !== undefined
  }

  get isOverdue(): boolean {
    return this.#reason === 'deadline'
  }

  get reason(): StopReason | undefined {
    return this.#reason
  }

  stop(reason: StopReason): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.listener?.()
  }
}

export class Deadline extends CallStop implements Timed {
  tick = NO_TICK
  readonly #wheel: World['wheel']

  constructor({ clock, wheel }: Pick<World, 'clock' | 'wheel'>, limitMs: number) {
    super()
    this.#wheel = wheel
    wheel.set(this, clock.monotonicMs() + limitMs)
  }

  override stop(reason: StopReason): void {
    this.#wheel.drop(this)
    super.stop(reason)
  }

  onTime(): void {
    this.stop('deadline')
  }
}
