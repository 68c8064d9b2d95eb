/**
 * Waits that no operator needs to set, gathered so that tests can run them at milliseconds.
 * Rules: money.md "Charges", "Crashes"; requests.md "First event", "Heartbeats".
 */

import { FIRST_EVENT_WAIT_MS, HEARTBEAT_IDLE_MS } from '../core/limits.ts'

export type Timings = Readonly<{
  firstEventWaitMs: number
  heartbeatIdleMs: number
  /** How much longer the status waits once the head of an upstream's error has come, for what its body says. */
  errorTextWaitMs: number
  /** Silence after the stop reason and the final figures: then the answer is complete without its terminal event. */
  terminalWaitMs: number
  /** How long an upstream may still send its final figures after the client has left. */
  leaverGraceMs: number
  /** How long an upstream may take to begin the answer for a client that has left. */
  leaverStartWaitMs: number
  /** How often a running answer's progress is noted in the ledger. */
  checkpointEveryMs: number
}>

export const TIMINGS: Timings = {
  firstEventWaitMs: FIRST_EVENT_WAIT_MS,
  heartbeatIdleMs: HEARTBEAT_IDLE_MS,
  errorTextWaitMs: 300,
  terminalWaitMs: 5_000,
  leaverGraceMs: 300,
  leaverStartWaitMs: 60_000,
  checkpointEveryMs: 5_000,
}
