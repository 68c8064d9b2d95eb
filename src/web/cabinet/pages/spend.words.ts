/** The words of the page of spend. */

import { showUsd, usdNumber } from '../../parts/show-usd.ts'

export const WORDS = {
  title: 'Spend',
  lede: 'Days are UTC days. Every sum is exact: chart, table and file come from the same rows.',
  csv: 'Download CSV',
  statement: 'Signed statement',
  none: 'Nothing was spent in this time.',
  noneLede: 'Choose a longer range, or make a request with one of the keys.',
  saved: 'less than the same tokens without a cache',
  lost: 'more than without a cache: its writes cost more than its reads saved',
  noCache: 'the cache was not used',
  waived: 'of requests that failed or were cut by us',
  held: 'Running requests hold the most that they may cost. What they do not need comes back when they end.',
  noneHeld: 'nothing is reserved',
} as const

/** "lasts 12 days at $1.20 a day". `days`: null where nothing was spent lately. */
export function runwayWords(days: number | null, aDay: string): string {
  if (days === null) return 'nothing spent in the last 7 days'
  if (days > 999) return `lasts years at ${aDay} a day`
  return `lasts ${days === 0 ? 'less than a day' : days === 1 ? '1 day' : `${days} days`} at ${aDay} a day`
}

/** "20 % more than the 7 days before": of whole days, since a day that has begun would count as a day without spend. */
export function weekWords(now: string, before: string): string {
  if (usdNumber(before) === 0) return usdNumber(now) === 0 ? 'nothing in the 7 days before' : 'after nothing in the 7 days before'
  const percent = Math.round((usdNumber(now) / usdNumber(before) - 1) * 100)
  return percent === 0 ? 'as much as the 7 days before' : `${Math.abs(percent)} % ${percent > 0 ? 'more' : 'less'} than the 7 days before`
}

/** "large +$4.20, small −$0.30": the models whose spend changed most. */
export const changesWords = (changes: readonly Readonly<{ model: string; usd: string }>[]): string =>
  changes.map(({ model, usd }) => `${model} ${usd.startsWith('-') ? '' : '+'}${showUsd(usd)}`).join(', ')
