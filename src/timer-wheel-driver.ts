/** Turns the timer wheel by the process's clock, while any timer waits in the wheel. Rules: platform.md "Process". */

import { TICK_MS, TimerWheel } from './core/timer-wheel.ts'

/** The process's one timer for requests: it runs while any request waits for a time. */
export function drivenTimerWheel(): TimerWheel {
  let timer: ReturnType<typeof setInterval> | undefined
  const turn = (): void => {
    wheel.turn(performance.now())
    if (!wheel.isEmpty) return
    clearInterval(timer)
    timer = undefined
  }
  const wheel = new TimerWheel(() => {
    // A timer that is left when all requests have ended, such as that of an upstream's connection, does not keep the process alive.
    timer ??= setInterval(turn, TICK_MS).unref()
  })
  return wheel
}
