/** The words of the page of spend. */

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
