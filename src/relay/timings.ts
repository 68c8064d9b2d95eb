/** Waits that no operator needs to set, gathered so that tests can run them at milliseconds. Source: product.md "Money", "Requests". */

import { FIRST_EVENT_WAIT_MS, HEARTBEAT_IDLE_MS } from '../core/limits.ts'

export type Timings = Readonly<{
  firstEventWaitMs: number
  heartbeatIdleMs: number
  /** How long an upstream may still send its final figures after the client has left. */
  leaverGraceMs: number
  /** How often a running answer's progress is noted in the ledger. */
  markEveryMs: number
}>

export const TIMINGS: Timings = {
  firstEventWaitMs: FIRST_EVENT_WAIT_MS,
  heartbeatIdleMs: HEARTBEAT_IDLE_MS,
  leaverGraceMs: 300,
  markEveryMs: 5_000,
}
