/** Days and times of UTC as people write them. Reading one needs no clock. Rules: operator.md "Lists"; requests.md "Usage". */

export const DAY_MS = 86_400_000

const ZONED = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/

/** `2026-11-30` in whole days since 1970. Undefined: the text is no day of the calendar. */
export function dayOf(text: string): number | undefined {
  const time = parse(`${text}T00:00:00Z`)
  // The engine reads February 31 as March 3, so the day must print as it was written.
  return Number.isNaN(time) || dayText(time / DAY_MS) !== text ? undefined : time / DAY_MS
}

/** A day, or a time with its zone (`2026-11-30T12:00:00Z`), in Unix milliseconds; a day as the `end` of a span, which is exclusive, means the beginning of the next day. */
export function edgeOf(text: string, edge: 'start' | 'end'): number | undefined {
  const day = dayOf(text.slice(0, 10))
  if (day === undefined) return undefined
  if (text.length === 10) return (edge === 'start' ? day : day + 1) * DAY_MS
  const time = ZONED.test(text) ? parse(text) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}

/** The UTC day of a moment, in whole days since 1970. */
export const dayAt = (timeMs: number): number => Math.floor(timeMs / DAY_MS)

// biome-ignore lint/style/noRestrictedGlobals: it writes a day that it is given
export const dayText = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10)

/** ISO 8601 in UTC, with its `Z`. */
// biome-ignore lint/style/noRestrictedGlobals: it writes a time that it is given
export const isoTime = (timeMs: number): string => new Date(timeMs).toISOString()

/** Null: never. */
export const isoOrNull = (timeMs: number | null): string | null => (timeMs === null ? null : isoTime(timeMs))

// biome-ignore lint/style/noRestrictedGlobals: it reads a text
const parse = (text: string): number => Date.parse(text)
