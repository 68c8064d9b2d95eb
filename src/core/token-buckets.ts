/**
 * Token buckets of requests, input tokens and output tokens a minute, as pure functions. A bucket's level is what was taken and has not flowed back; it may be above the limit, because a
 * request of any size is let in where nothing is taken, and because output is counted at its end. Rules: keys.md "Rates".
 */

export const BUCKETS = ['requests', 'input', 'output'] as const
export type Bucket = (typeof BUCKETS)[number]
export type Amounts = Readonly<Record<Bucket, number>>

/** The largest rate that can be set. */
export const RATE_MAX = 1_000_000_000

/** null: no limit. */
export type RateLimits = Readonly<{
  requestsPerMinute: number | null
  inputTokensPerMinute: number | null
  outputTokensPerMinute: number | null
  concurrentRequests: number | null
}>

/** The limits of which any is set; undefined where none is. */
export function rateLimitsOf(given: Readonly<{ [name in keyof RateLimits]?: number | null | undefined }>): RateLimits | undefined {
  const { requestsPerMinute = null, inputTokensPerMinute = null, outputTokensPerMinute = null, concurrentRequests = null } = given
  const limits = { requestsPerMinute, inputTokensPerMinute, outputTokensPerMinute, concurrentRequests }
  return Object.values(limits).every((limit) => limit === null) ? undefined : limits
}

/** By the names that settings and documents have for them. */
export const ratesAsSet = (limits: RateLimits) => ({
  requests_per_minute: limits.requestsPerMinute,
  input_tokens_per_minute: limits.inputTokensPerMinute,
  output_tokens_per_minute: limits.outputTokensPerMinute,
  concurrent_requests: limits.concurrentRequests,
})

type RatesAsSet = Readonly<{ [name in keyof ReturnType<typeof ratesAsSet>]?: number | null | undefined }>

/** The limits with these settings changed: null takes one away, and what is absent stays. Undefined: none is left. */
export const ratesWith = (limits: RateLimits | null, set: RatesAsSet): RateLimits | undefined => {
  const { requests_per_minute, input_tokens_per_minute, output_tokens_per_minute, concurrent_requests } = set
  const kept = (now: number | null | undefined, before: number | null | undefined) => (now === undefined ? before : now)
  return rateLimitsOf({
    requestsPerMinute: kept(requests_per_minute, limits?.requestsPerMinute),
    inputTokensPerMinute: kept(input_tokens_per_minute, limits?.inputTokensPerMinute),
    outputTokensPerMinute: kept(output_tokens_per_minute, limits?.outputTokensPerMinute),
    concurrentRequests: kept(concurrent_requests, limits?.concurrentRequests),
  })
}

/** As a key's row has them: JSON of those that are set, always the same text for the same limits. */
export const ratesText = (limits: RateLimits): string => JSON.stringify(ratesAsSet(limits), (_name, value: unknown) => value ?? undefined)
export function ratesOfText(text: string): RateLimits {
  const limits = ratesWith(null, JSON.parse(text) as RatesAsSet)
  return limits ?? { requestsPerMinute: null, inputTokensPerMinute: null, outputTokensPerMinute: null, concurrentRequests: null }
}

/** In words: `600 requests a minute, 4 at once`; '' where there is none. */
export const rateText = ({ requestsPerMinute, inputTokensPerMinute, outputTokensPerMinute, concurrentRequests }: RateLimits): string =>
  [
    requestsPerMinute === null ? [] : `${requestsPerMinute} requests a minute`,
    inputTokensPerMinute === null ? [] : `${inputTokensPerMinute} input tokens a minute`,
    outputTokensPerMinute === null ? [] : `${outputTokensPerMinute} output tokens a minute`,
    concurrentRequests === null ? [] : `${concurrentRequests} requests at once`,
  ]
    .flat()
    .join(', ')

/** What is taken of each bucket at this time of a clock that may be set back. */
export type Levels = Amounts & Readonly<{ atMs: number }>

export const NO_AMOUNTS: Amounts = { requests: 0, input: 0, output: 0 }

/** `inputTokens` null: the request has no tokens to count, so the buckets of tokens do not matter to it. */
export type Wanted = Readonly<{ inputTokens: number | null }>

const perMinuteOf = ({ requestsPerMinute, inputTokensPerMinute, outputTokensPerMinute }: RateLimits, bucket: Bucket): number | null =>
  ({ requests: requestsPerMinute, input: inputTokensPerMinute, output: outputTokensPerMinute })[bucket]

const MINUTE_MS = 60_000
/** Greater than the floating-point error of a bucket, smaller than anything that is counted. */
const SLACK = 1e-6

/** The levels at a later time. A clock that was set back lets nothing flow back, and takes nothing. */
export function levelsAt(levels: Levels | undefined, limits: RateLimits, nowMs: number): Levels {
  if (levels === undefined) return { ...NO_AMOUNTS, atMs: nowMs }
  const minutes = Math.max(0, nowMs - levels.atMs) / MINUTE_MS
  const left = (bucket: Bucket): number => {
    const perMinute = perMinuteOf(limits, bucket)
    const level = perMinute === null ? 0 : levels[bucket] - minutes * perMinute
    return level < SLACK ? 0 : level
  }
  return { requests: left('requests'), input: left('input'), output: left('output'), atMs: nowMs }
}

export const amountsOf = ({ inputTokens }: Wanted): Amounts => ({ requests: 1, input: inputTokens ?? 0, output: 0 })

/** How long a request has to wait at these levels; 0: it is let in. A bucket lets in what fits, and anything where nothing is taken. */
export function waitMsFor(levels: Amounts, limits: RateLimits, wanted: Wanted): number {
  const amounts = amountsOf(wanted)
  const wait = (bucket: Bucket): number => {
    const perMinute = perMinuteOf(limits, bucket)
    if (perMinute === null || levels[bucket] < SLACK) return 0
    const amount = Math.max(1, amounts[bucket])
    const over = amount > perMinute ? levels[bucket] : levels[bucket] + amount - perMinute
    return over < SLACK ? 0 : (over / perMinute) * MINUTE_MS
  }
  return Math.max(wait('requests'), ...(wanted.inputTokens === null ? [] : [wait('input'), wait('output')]))
}

/** The levels with more, or less, taken; never less than nothing. A bucket without a limit stays empty. */
export function changed(levels: Levels, limits: RateLimits, amounts: Amounts): Levels {
  const sum = (bucket: Bucket): number => (perMinuteOf(limits, bucket) === null ? 0 : Math.max(0, levels[bucket] + amounts[bucket]))
  return { requests: sum('requests'), input: sum('input'), output: sum('output'), atMs: levels.atMs }
}

/** A correction of what was counted so long ago: what has flowed back by time cannot come back once more. */
export function comingBack(amounts: Amounts, counted: Amounts, limits: RateLimits, passedMs: number): Amounts {
  const left = (bucket: Bucket): number => Math.max(0, counted[bucket] - ((perMinuteOf(limits, bucket) ?? 0) * passedMs) / MINUTE_MS)
  const most = (bucket: Bucket): number => Math.max(amounts[bucket], 0 - left(bucket))
  return { requests: most('requests'), input: most('input'), output: most('output') }
}

export const isEmpty = ({ requests, input, output }: Amounts): boolean => requests + input + output === 0

/** A bucket as its user sees it. `resetMs`: the time until it is whole again. */
export type BucketState = Readonly<{ limit: number; remaining: number; resetMs: number }>

export function bucketState(levels: Amounts, limits: RateLimits, bucket: Bucket): BucketState | undefined {
  const limit = perMinuteOf(limits, bucket)
  if (limit === null) return undefined
  const level = levels[bucket]
  return { limit, remaining: Math.max(0, Math.floor(limit - level + SLACK)), resetMs: (level / limit) * MINUTE_MS }
}
