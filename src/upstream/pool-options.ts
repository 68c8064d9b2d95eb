/** What the pool is made of: clocks, randomness, and its events for the metrics. Rules: operator.md "Metrics". */

import type { CountDifference } from '../core/aws-event-stream/invocation-metrics.ts'
import type { TimerWheel } from '../core/timer-wheel.ts'
import type { BreakerState } from './breaker.ts'
import type { Affinity } from './conversations.ts'

/** Called for the metrics. */
export type PoolEvents = Readonly<{
  /** A call ended, or its answer began: 'answered', or the fault's cause. */
  called(upstream: string, result: string): void
  /** A request was sent on to another upstream; 'budget spent' where that was not allowed. */
  retried(how: 'retried' | 'budget spent'): void
  /** A conversation was answered, by the upstream that has it in its cache or by another. */
  placed(affinity: Affinity): void
  /** A conversation with thinking was answered by another upstream than before: what is bound to the account is lost. */
  thinkingLost(): void
  /** A breaker has changed. */
  changed(upstream: string, model: string, state: BreakerState): void
  /** An answer names another model than was asked for. */
  otherModel(upstream: string, asked: string, named: string): void
  /** The upstream's door counted an answer otherwise than the answer's own usage does. */
  countDiffers(upstream: string, difference: CountDifference): void
  /** The upstream refused a request for its betas. */
  betasRefused(upstream: string, betas: readonly string[]): void
}>

export type PoolOptions = Readonly<{
  wheel: TimerWheel
  now: () => number
  monotonicMs: () => number
  random: () => number
  events: PoolEvents
}>
