/** The limits of the configuration in units that people know. Rules: pages.md "Catalog". */

import { showCount } from '../../parts/show-time.ts'

const STEPS: Readonly<Record<string, readonly (readonly [size: number, unit: string])[]>> = {
  ms: [
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1_000, 's'],
  ],
  bytes: [
    [1_073_741_824, 'GiB'],
    [1_048_576, 'MiB'],
    [1_024, 'KiB'],
  ],
}

/** The largest unit of which it is a whole number: "first_event_timeout_ms" and 120000 → "2 min". A setting without a unit in its name is a count. */
export function limitWords(setting: string, value: number): string {
  const [, unit = '', minute = ''] = /_(ms|bytes)(_per_minute)?$/.exec(setting) ?? []
  if (unit === '' || value === 0) return showCount(value)
  const [size, name] = STEPS[unit]?.find(([step]) => value % step === 0) ?? [1, unit]
  return `${showCount(value / size)} ${name}${minute === '' ? '' : ' a minute'}`
}
