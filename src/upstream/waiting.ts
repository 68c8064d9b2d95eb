/** The two waits of a call to an upstream: for a slot, and between two tries. Both end at once when the call is stopped. Rules: pool.md "Overload". */

import { NO_TICK, type Timed, type TimerWheel } from '../core/timer-wheel.ts'
import type { FairSlots } from './fair-slots.ts'
import type { Stop } from './upstream.ts'

/** Resolves true when the call has a slot, which `turns.leave` gives back; false when `untilMs` has passed or the call was stopped. */
export function waitForTurn(turns: FairSlots, accountId: string, wheel: TimerWheel, untilMs: number, stop: Stop): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const decide = (mayRun: boolean): void => {
    wheel.drop(late)
    stop.listener = undefined
    resolve(mayRun)
  }
  const takeBack = turns.wait(accountId, () => decide(true))
  const giveUp = (): void => {
    takeBack()
    decide(false)
  }
  const late: Timed = { tick: NO_TICK, onTime: giveUp }
  wheel.set(late, untilMs)
  stop.listener = giveUp
  if (stop.isStopped) giveUp()
  return promise
}

export function sleep(wheel: TimerWheel, untilMs: number, stop: Stop): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const wake = (): void => {
    wheel.drop(timed)
    stop.listener = undefined
    resolve()
  }
  const timed: Timed = { tick: NO_TICK, onTime: wake }
  wheel.set(timed, untilMs)
  stop.listener = wake
  if (stop.isStopped) wake()
  return promise
}
