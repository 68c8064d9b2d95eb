/** Says until when an old secret is valid, and warns where a new secret ends it earlier than was promised. Rules: keys.md "Expiry and rotation". */

import { Moment } from './time.tsx'

type Old = Readonly<{ display: string; valid_until: string }> | null

const HOUR_MS = 3_600_000

/** Whether the old secret would now end earlier than was promised. */
export const isPromised = (old: Old, overlapHours: string, nowMs = Date.now()): boolean =>
  old !== null && Date.parse(old.valid_until) > nowMs + Number(overlapHours) * HOUR_MS

export const OldSecret = ({ old, overlapHours }: Readonly<{ old: Old; overlapHours: string }>) =>
  old === null ? null : (
    <p class={isPromised(old, overlapHours) ? 'note wary' : 'field-hint'}>
      The old secret {old.display} is valid until <Moment iso={old.valid_until} />
      {isPromised(old, overlapHours) ? ', as was promised: it would end earlier.' : '.'}
    </p>
  )
