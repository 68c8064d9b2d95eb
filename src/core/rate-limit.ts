/**
 * The rate limit as a pure function: GCRA (generic cell rate algorithm), whose whole state is one number. A rule of `perMinute` and `burst` lets `burst`
 * requests through at once and `perMinute` a minute after that. Rules: keys.md "Rate limits"; https://www.itu.int/rec/T-REC-I.371.
 */

/** Both are greater than 0. */
export type RateRule = Readonly<{ perMinute: number; burst: number }>

export type RateStep = Readonly<{
  /** The new state: the moment at which the client's allowance is whole again. Unchanged by a refused request. */
  tat: number
  isAllowed: boolean
  /** Whole seconds after which the next request is allowed; 0 when this one was. */
  retryAfterSeconds: number
}>

const MINUTE_MS = 60_000
/** Greater than the floating-point error of adding intervals up, smaller than a clock of milliseconds can tell. */
const SLACK_MS = 0.1

/**
 * Decides on one request at `now` (milliseconds), or on `units` of something, such as bytes, at once. `tat` is the state that the last step gave; undefined for a client that was
 * never seen. The state is never believed to be further ahead than a full burst, so that a clock that jumps back locks a key out for at most one interval.
 */
export function step(tat: number | undefined, now: number, { perMinute, burst }: RateRule, units = 1): RateStep {
  const unitMs = MINUTE_MS / perMinute
  const intervalMs = units * unitMs
  const burstMs = burst * unitMs
  const from = Math.min(Math.max(tat ?? now, now), now + burstMs)
  const waitMs = from + intervalMs - burstMs - now
  if (waitMs > SLACK_MS) return { tat: from, isAllowed: false, retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) }
  return { tat: from + intervalMs, isAllowed: true, retryAfterSeconds: 0 }
}
