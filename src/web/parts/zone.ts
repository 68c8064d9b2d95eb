/**
 * The zone in which a page shows moments and reads the days of its filters: the reader's own, or UTC, in which the ledger's days are. The browser remembers which.
 * Rules: pages.md "Zones".
 */

import { signal } from '@preact/signals'

const KEPT = 'tollgate.zone'
const UTC = 'utc'

export const isUtc = signal(kept() === UTC)

export function showInUtc(wanted: boolean): void {
  isUtc.value = wanted
  try {
    localStorage.setItem(KEPT, wanted ? UTC : 'own')
  } catch {
    // A browser that keeps nothing shows it until the page is left.
  }
}

function kept(): string | null {
  try {
    return localStorage.getItem(KEPT)
  } catch {
    return null
  }
}

/** "Europe/Berlin", "UTC". */
export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone
export const zoneName = (): string => (isUtc.value ? 'UTC' : ownZone())

const DAY_LENGTH = '2026-11-22'.length
/** A date from the page's address may be any text: one that is no day goes to the gateway as it is, which says so. */
const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))

/** A day of the shown zone as the moment where it begins, or behind which it ends; a moment is one already. */
function momentOf(text: string, edge: 'start' | 'end'): string {
  if (!isDay(text)) return text
  const [year = 0, month = 1, day = 1] = text.split('-').map(Number)
  const parts = [year, month - 1, edge === 'start' ? day : day + 1] as const
  return (isUtc.value ? new Date(Date.UTC(...parts)) : new Date(...parts)).toISOString()
}

/** The day of the shown zone in which a span begins or ends, as a field shows it: empty for what is none. */
export function dayOf(text: string, edge: 'start' | 'end'): string {
  if (isDay(text)) return text
  const ms = Date.parse(text)
  if (Number.isNaN(ms)) return ''
  const moment = new Date(ms - (edge === 'start' ? 0 : 1))
  const ofZone = isUtc.value ? moment : new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000)
  return ofZone.toISOString().slice(0, DAY_LENGTH)
}

/** Filters as the gateway reads them. */
export const withMoments = <F extends Readonly<{ from?: string | undefined; to?: string | undefined }>>(filters: F): F => ({
  ...filters,
  ...(filters.from === undefined ? {} : { from: momentOf(filters.from, 'start') }),
  ...(filters.to === undefined ? {} : { to: momentOf(filters.to, 'end') }),
})
