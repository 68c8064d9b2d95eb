/** Says in which zone times are shown, and lets the reader choose the other zone. Rules: pages.md "Zones". */

import { isUtc, ownZone, showInUtc, zoneName } from './zone.ts'

export const ZoneChoice = () => (
  <p class="quiet">
    Times and days are in {zoneName()}.{' '}
    {ownZone() !== 'UTC' && (
      <button type="button" class="as-link" onClick={() => showInUtc(!isUtc.value)}>
        Show {isUtc.value ? ownZone() : 'UTC'}
      </button>
    )}
  </p>
)
