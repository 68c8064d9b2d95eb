/**
 * How a stream ends: its outcome, the client's last bytes, the log's fields. Rules: contract.md "Errors in a stream"; money.md "Charges"; faults.md "In a
 * stream".
 */

import type { Outcome } from '../core/outcome.ts'
import { Refusal, type RefusalName } from '../core/refusal.ts'
import type { Written } from '../core/transcoder.ts'
import type { Fault } from '../upstream/upstream.ts'
import type { StopReason } from './deadline.ts'
import type { EndNotes } from './settle.ts'

/** `last`: the closing bytes of a whole answer. `refusal`: becomes the format's error. With neither the client is gone. */
export type End = Readonly<{ outcome: Outcome; last?: Written; refusal?: Refusal; more?: EndNotes }>

const endWith = (outcome: Outcome, name: RefusalName): End => ({ outcome, refusal: new Refusal(name) })

export const BUG_END: End = { ...endWith('fault', 'internal'), more: { cause: 'bug' } }

/** `upstream`: its name, once it has answered. */
export const wholeEnd = (last: Written, upstream: string | undefined): End => ({ outcome: 'complete', last, more: namedBy(upstream) })

export const brokenEnd = (refusal: Refusal, cause: 'reset' | 'stream', upstream: string | undefined): End => ({
  outcome: 'fault',
  refusal,
  more: { ...namedBy(upstream), cause, isAlarm: refusal.name === 'upstreamAccount' },
})

const namedBy = (upstream: string | undefined): EndNotes => (upstream === undefined ? {} : { upstream })

export const faultEnd = ({ refusal, upstream, cause, isAlarm }: Fault): End => ({
  outcome: 'fault',
  refusal,
  more: { upstream, cause, isAlarm },
})

/** The end of a stream whose client has left: nothing is sent. A `fault` of the upstream is logged as one. */
export const leaverEnd = (outcome: 'leaver' | 'fault', { more }: End): End => ({
  outcome,
  ...(outcome === 'leaver' || more === undefined ? {} : { more }),
})

/** The end of a stream whose upstream we have stopped. */
export function stoppedEnd(reason: StopReason | undefined, upstream: string | undefined): End {
  const end = endBy(reason)
  return upstream === undefined ? end : { ...end, more: { ...end.more, upstream } }
}

function endBy(reason: StopReason | undefined): End {
  switch (reason) {
    case 'deadline':
      return endWith('deadline', 'timedOut')
    case 'stall':
      return { ...endWith('fault', 'timedOut'), more: { cause: 'stall' } }
    case 'drain':
      return endWith('drain', 'draining')
    case 'disabled':
      return endWith('cut', 'keyDisabled')
    case 'leaver':
    case 'write-stall':
      return { outcome: 'leaver' }
    case 'done':
    case undefined:
      return { ...endWith('fault', 'upstreamBroken'), more: { cause: 'stopped' } }
  }
}
