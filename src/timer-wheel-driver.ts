/** Turns the timer wheel by the process's clock, while something waits in it. Rules: platform.md "Process". */

import { TICK_MS, TimerWheel } from './core/timer-wheel.ts'

/** The process's one timer for requests: it runs while any of them waits for a time. */
export function drivenTimerWheel(): TimerWheel {
  let timer: ReturnType<typeof setInterval> | undefined
  const turn = (): void => {
    wheel.turn(performance.now())
    if (!wheel.isEmpty) return
    clearInterval(timer)
    timer = undefined
  }
  const wheel = new TimerWheel(() => {
    // What is left to wait for when all have gone, such as the rest of an upstream's connection, keeps no process.
    timer ??= setInterval(turn, TICK_MS).unref()
  })
  return wheel
}
