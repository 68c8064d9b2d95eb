/**
 * The zone in which a page shows moments and reads the days of its filters: the reader's own, or UTC, in which the ledger's days are. The browser remembers the choice.
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
    // In a browser that stores nothing the choice lasts until the page is left.
  }
}

function kept(): string | null {
  try {
    return localStorage.getItem(KEPT)
  } catch {
    return null
  }
}

/** The reader's own zone, such as "Europe/Berlin" or "UTC". */
export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone
export const zoneName = (): string => (isUtc.value ? 'UTC' : ownZone())

const DAY_LENGTH = '2026-11-22'.length
/** Whether a text is a day. The page's address may have any text: one that is no day is sent to the gateway, which refuses it. */
const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))

/** The moment at which a day of the shown zone begins or has ended; any other text stays as it is. */
function momentOf(text: string, edge: 'start' | 'end'): string {
  if (!isDay(text)) return text
  const [year = 0, month = 1, day = 1] = text.split('-').map(Number)
  const parts = [year, month - 1, edge === 'start' ? day : day + 1] as const
  return (isUtc.value ? new Date(Date.UTC(...parts)) : new Date(...parts)).toISOString()
}

/** The day of the shown zone in which a span begins or ends, as a field shows it; empty for a text that is neither day nor moment. */
export function dayOf(text: string, edge: 'start' | 'end'): string {
  if (isDay(text)) return text
  const ms = Date.parse(text)
  if (Number.isNaN(ms)) return ''
  const moment = new Date(ms - (edge === 'start' ? 0 : 1))
  const ofZone = isUtc.value ? moment : new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000)
  return ofZone.toISOString().slice(0, DAY_LENGTH)
}

/** Filters as the gateway reads them: their days become moments. */
export const withMoments = <F extends Readonly<{ from?: string | undefined; to?: string | undefined }>>(filters: F): F => ({
  ...filters,
  ...(filters.from === undefined ? {} : { from: momentOf(filters.from, 'start') }),
  ...(filters.to === undefined ? {} : { to: momentOf(filters.to, 'end') }),
})
