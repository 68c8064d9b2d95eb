/**
 * An answer that another node gives. One request of this node looks, on behalf of all that wait for the answer here, whether the other node's claim still stands. A
 * stream is followed at another relay only (follow-elsewhere.ts): another node has nothing of it before its end. Rules: requests.md "Joined answers".
 */

import { Refusal } from '../core/refusal.ts'
import { NO_TICK, type Timed } from '../core/timer-wheel.ts'
import type { World } from '../world.ts'
import { type Elsewhere, shownOf } from './idempotency.ts'

type Waiting = Pick<World, 'clock' | 'wheel' | 'limits' | 'isDraining'>

const FIRST_PAUSE_MS = 50
const PAUSE_MS_MAX = 1_000

/** Ends `answer`, also where no request waits for it. Rejects by bugs only; `answer` has ended then, too. */
export async function awaitElsewhere(world: Waiting, { answer, store }: Elsewhere): Promise<void> {
  const untilMs = world.clock.monotonicMs() + world.limits().startTimeoutMs
  try {
    for (let pauseMs = FIRST_PAUSE_MS; answer.isWaitedFor; pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)) {
      if (world.isDraining()) return answer.drop(new Refusal('draining'))
      if (world.clock.monotonicMs() >= untilMs) return answer.drop(new Refusal('timedOut'))
      await pause(world, pauseMs)
      if (await store.isRunning()) continue
      const found = await store.claim()
      if (found.kind === 'running' && found.isSame) continue
      if (found.kind !== 'claimed') return answer.drop(shownOf(found, answer.bodyHash))
      // The request has ended on the other node without an answer, and this node does not know why.
      store.release()
      return answer.drop(new Refusal('repetitionRunning'))
    }
    answer.drop(new Refusal('repetitionRunning'))
  } finally {
    answer.drop()
  }
}

export function pause({ clock, wheel }: Pick<World, 'clock' | 'wheel'>, waitMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const waiter: Timed = { tick: NO_TICK, onTime: () => resolve() }
  wheel.set(waiter, clock.monotonicMs() + waitMs)
  return promise
}
