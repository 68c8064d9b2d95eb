/** Times and counts for people: days of the ledger are UTC days; moments are shown in the reader's own zone or in UTC, with the exact one in the title. */

import { isUtc } from './zone.ts'

const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
const inBoth = (options: Intl.DateTimeFormatOptions) => {
  const [own, utc] = [{}, { timeZone: 'UTC' }].map((zone) => new Intl.DateTimeFormat('en-GB', { ...options, ...zone }))
  return (iso: string): string => (isUtc.value ? utc : own)?.format(Date.parse(iso)) ?? ''
}
const COUNT = new Intl.NumberFormat('en-US')

/** "2026-11-22" → "22 Nov". */
export const showDay = (date: string): string => DAY.format(Date.parse(`${date}T00:00:00Z`))
/** "22 Nov 2026". */
export const showDate = inBoth({ day: 'numeric', month: 'short', year: 'numeric' })
/** "22 Nov, 14:03:05". */
export const showMoment = inBoth({ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit' })
/** "14:03". */
export const showTime = inBoth({ hour: '2-digit', minute: '2-digit' })
/** "22 Nov", of a moment. */
export const showShortDay = inBoth({ day: 'numeric', month: 'short' })
const showMinute = inBoth({ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' })
/** "22 Nov, 14:00 – 16:00", or with both days. */
export function spanText({ from, to }: Readonly<{ from: string; to: string }>, until = '–'): string {
  const isOneDay = showShortDay(from) === showShortDay(to)
  return `${showMinute(from)} ${until} ${isOneDay ? showTime(to) : showMinute(to)}`
}
export const showCount = (count: number): string => COUNT.format(count)
/** 1 → "1 request", 2 → "2 requests". */
export const counted = (count: number, name: string): string => `${showCount(count)} ${name}${count === 1 ? '' : 's'}`

/** 950 → "950 ms", 12345 → "12.3 s". */
export const showDuration = (ms: number): string => (ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`)

const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
]
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** "3 hours ago", "in 5 days". */
export function showAgo(iso: string, nowMs: number): string {
  const awayMs = Date.parse(iso) - nowMs
  const [unit, ms] = STEPS.find(([, stepMs]) => Math.abs(awayMs) >= stepMs) ?? (['second', 1_000] as const)
  return RELATIVE.format(Math.round(awayMs / ms), unit)
}
