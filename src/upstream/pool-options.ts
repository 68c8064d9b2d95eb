/** What the pool is made of: clocks, randomness, and its events for the metrics. Rules: operator.md "Metrics". */

import type { TimerWheel } from '../core/timer-wheel.ts'
import type { BreakerState } from './breaker.ts'
import type { Affinity } from './conversations.ts'

/** For the metrics. */
type PoolEvents = Readonly<{
  /** A call ended, or its answer began: 'answered', or the fault's cause. */
  called(upstream: string, result: string): void
  /** A request was sent on to another upstream; 'budget spent' where that was not allowed. */
  retried(how: 'retried' | 'budget spent'): void
  /** A conversation was answered, by the upstream that has it in its cache or by another. */
  placed(affinity: Affinity): void
  /** A breaker has changed. */
  changed(upstream: string, model: string, state: BreakerState): void
}>

export type PoolOptions = Readonly<{
  wheel: TimerWheel
  now: () => number
  monotonicMs: () => number
  random: () => number
  events: PoolEvents
}>
