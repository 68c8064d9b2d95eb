/** The rate-limit headers of both vendors, out of the buckets that a request counts in. Rules: keys.md "Rate headers". */

import { type Amounts, BUCKETS, type Bucket, type BucketState, bucketState, type RateLimits } from './token-buckets.ts'
import { isoTime } from './utc.ts'

/** `levels`: as they are at the moment. */
export type RatedOwner = Readonly<{ limits: RateLimits; levels: Amounts }>

/** Their names, all that there may be. */
export const RATE_HEADERS: readonly string[] = [
  ...['requests', 'tokens', 'input-tokens', 'output-tokens'].flatMap((what) =>
    ['limit', 'remaining', 'reset'].map((said) => `anthropic-ratelimit-${what}-${said}`),
  ),
  ...['requests', 'tokens'].flatMap((what) => ['limit', 'remaining', 'reset'].map((said) => `x-ratelimit-${said}-${what}`)),
]

/** `nowMs`: Unix milliseconds. Empty where no owner has a limit a minute. */
export function rateHeaders(owners: readonly RatedOwner[], nowMs: number): Record<string, string> {
  const headers: Record<string, string> = {}
  const shown: Partial<Record<Bucket, BucketState>> = {}
  for (const bucket of BUCKETS) {
    const tightest = tightestOf(owners.map(({ limits, levels }) => bucketState(levels, limits, bucket)))
    if (tightest !== undefined) shown[bucket] = tightest
  }
  const { requests, input, output } = shown
  const tokens = tightestOf([input, output])
  if (requests !== undefined) addBoth(headers, 'requests', requests, nowMs)
  if (tokens !== undefined) addBoth(headers, 'tokens', tokens, nowMs)
  if (input !== undefined) addNative(headers, 'input-tokens', input, nowMs)
  if (output !== undefined) addNative(headers, 'output-tokens', output, nowMs)
  return headers
}

/** The bucket with the smallest part left; of two alike, the one that takes longer to be whole. */
function tightestOf(states: readonly (BucketState | undefined)[]): BucketState | undefined {
  const known = states.filter((state) => state !== undefined)
  return known.reduce<BucketState | undefined>(
    (tightest, state) => (tightest === undefined || isTighter(state, tightest) ? state : tightest),
    undefined,
  )
}

function isTighter(a: BucketState, b: BucketState): boolean {
  const [partA, partB] = [a.remaining / a.limit, b.remaining / b.limit]
  return partA === partB ? a.resetMs > b.resetMs : partA < partB
}

function addBoth(headers: Record<string, string>, what: 'requests' | 'tokens', state: BucketState, nowMs: number): void {
  addNative(headers, what, state, nowMs)
  headers[`x-ratelimit-limit-${what}`] = `${state.limit}`
  headers[`x-ratelimit-remaining-${what}`] = `${state.remaining}`
  headers[`x-ratelimit-reset-${what}`] = durationText(secondsOf(state))
}

function addNative(headers: Record<string, string>, what: string, state: BucketState, nowMs: number): void {
  const prefix = `anthropic-ratelimit-${what}`
  headers[`${prefix}-limit`] = `${state.limit}`
  headers[`${prefix}-remaining`] = `${state.remaining}`
  headers[`${prefix}-reset`] = timeText(Math.ceil((nowMs + state.resetMs) / 1_000))
}

const secondsOf = ({ resetMs }: BucketState): number => Math.ceil(resetMs / 1_000)

/** The end of the year 9999, after which a year has five digits. */
const SECONDS_MAX = 253_402_300_799

const timeText = (seconds: number): string => `${isoTime(Math.min(SECONDS_MAX, seconds) * 1_000).slice(0, 19)}Z`

/** As the vendor writes durations: `12s`, `6m0s`. */
const durationText = (seconds: number): string => (seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`)
