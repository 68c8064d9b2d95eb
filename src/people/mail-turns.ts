/**
 * How often an address is written to, for all callers together: the first mail of a kind at once, the next after a minute, then two, four, up to an hour. So a mailbox cannot
 * be flooded, and a person who asks for a link has one that still works. Rules: pages.md "Mail".
 */

import { boundedMap } from '../core/bounded-map.ts'

const FIRST_MS = 60_000
/** As long as a link lives. */
const MAX_MS = 3_600_000
/** After this long without a mail the waits begin anew. */
const FORGET_MS = 6 * MAX_MS
const REMEMBERED_MAX = 10_000

export class MailTurns {
  readonly #sent = boundedMap<{ at: number; pauseMs: number }>(REMEMBERED_MAX)

  /** Counts one where it may go. `now`: milliseconds that never jump. */
  take(email: string, kind: string, now: number): boolean {
    const key = `${kind} ${email}`
    const last = this.#sent.get(key)
    if (last !== undefined && now - last.at < last.pauseMs) return false
    const goesOn = last !== undefined && now - last.at < FORGET_MS
    this.#sent.set(key, { at: now, pauseMs: goesOn ? Math.min(MAX_MS, last.pauseMs * 2) : FIRST_MS })
    return true
  }
}
