/**
 * Token usage: the native counters as the wire reports them, merged over a stream, and as they are billed.
 * Rules: money.md "Usage that is billed"; native.md "Usage".
 */

import { isObject } from './json.ts'

/** What is billed: whole tokens of each class, and uses of the upstream's own tools. Never negative. */
export type Usage = Readonly<{
  input: number
  output: number
  cacheRead: number
  cacheWrite5m: number
  cacheWrite1h: number
  serverToolUses: number
}>

export const NO_USAGE: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0, serverToolUses: 0 }

/** Tokens written to the cache, by lifetime: each lifetime has its own price. */
type CacheWrites = Readonly<{ fiveMinutes: number; oneHour: number }>

/** The native `usage` object as it stands after some events. `undefined`: never reported. Counters are cumulative; see `mergeUsage`. */
export type ReportedUsage = Readonly<{
  input: number | undefined
  output: number | undefined
  cacheRead: number | undefined
  cacheWrites: CacheWrites | undefined
  /** Part of `output` that was thinking; shown by the translated formats, priced as output. */
  thinking: number | undefined
  serverToolUses: number | undefined
  /** Tokens of the largest prompt among `usage.iterations`; undefined where there are none. A price level is chosen by it. */
  largestPrompt: number | undefined
  /** The sum of those `usage.iterations` that the top level leaves out: compaction and advisor runs. */
  hidden: Usage
  /** A counter was negative, fractional, not a number or beyond `COUNTER_MAX`; it was ignored. */
  absurd: boolean
}>

export const NOT_REPORTED: ReportedUsage = {
  input: undefined,
  output: undefined,
  cacheRead: undefined,
  cacheWrites: undefined,
  thinking: undefined,
  serverToolUses: undefined,
  largestPrompt: undefined,
  hidden: NO_USAGE,
  absurd: false,
}

/**
 * No request reads or writes this many tokens: windows end at a few million, and hidden iterations are a few windows. A larger counter, or sum, comes from a
 * broken upstream, and its cost must not reach an account.
 */
const COUNTER_MAX = 20_000_000
export const SERVER_TOOL_USES_MAX = 10_000
/** Iteration types whose tokens the top-level totals exclude. */
const HIDDEN_ITERATIONS = new Set(['compaction', 'advisor_message'])

/**
 * Merges a later native `usage` object into the figures so far, one object at a time. A counter that is present overwrites the older one and is never added to
 * it. A 0 overwrites a positive one only in an object with `iterations`, which is a full statement: some upstreams send 0 for what they do not repeat.
 * Hidden iterations are those of the last object that has any.
 */
export function mergeUsage(known: ReportedUsage, usage: unknown): ReportedUsage {
  if (!isObject(usage)) return known
  const details = isObject(usage['output_tokens_details']) ? usage['output_tokens_details'] : {}
  const iterations: readonly unknown[] = Array.isArray(usage['iterations']) ? usage['iterations'] : []
  const isFull = iterations.length > 0
  let absurd = known.absurd
  const count = (value: unknown): number | undefined => {
    if (value === undefined || value === null) return undefined
    if (isCount(value)) return value
    absurd = true
    return undefined
  }
  const newest = (before: number | undefined, value: number | undefined): number | undefined =>
    value === undefined || (value === 0 && before !== undefined && !isFull) ? before : value
  const split = splitOf(usage['cache_creation'], count)
  const total = count(usage['cache_creation_input_tokens'] ?? (split && sumOf(split)))
  const counters = {
    input: newest(known.input, count(usage['input_tokens'])),
    output: newest(known.output, count(usage['output_tokens'])),
    cacheRead: newest(known.cacheRead, count(usage['cache_read_input_tokens'])),
    cacheWrites: newestWrites(known.cacheWrites, { total, split }, isFull),
    thinking: newest(known.thinking, count(details['thinking_tokens'])),
  }
  const uses = serverToolUses(usage['server_tool_use'])
  const hidden = hiddenIterations(iterations)
  return {
    ...counters,
    serverToolUses: uses === 'absurd' ? known.serverToolUses : newest(known.serverToolUses, uses),
    largestPrompt: largestPromptOf(iterations) ?? known.largestPrompt,
    hidden: hidden === 'absurd' || hidden === undefined ? known.hidden : hidden,
    absurd: absurd || uses === 'absurd' || hidden === 'absurd',
  }
}

/** Undefined where `cache_creation` states neither lifetime. */
function splitOf(creation: unknown, count: (value: unknown) => number | undefined): CacheWrites | undefined {
  if (!isObject(creation)) return undefined
  const fiveMinutes = count(creation['ephemeral_5m_input_tokens'])
  const oneHour = count(creation['ephemeral_1h_input_tokens'])
  return fiveMinutes === undefined && oneHour === undefined ? undefined : { fiveMinutes: fiveMinutes ?? 0, oneHour: oneHour ?? 0 }
}

/** Cache writes as one object states them. Where the object has no total, `total` is the sum of the split. */
type StatedWrites = Readonly<{ total: number | undefined; split: CacheWrites | undefined }>

/**
 * A split counts only as a whole: when its parts do not sum to the total, the total counts as 5 m. A total that comes alone keeps the older split's 1 h part, as far as it fits.
 */
function newestWrites(known: CacheWrites | undefined, { total, split }: StatedWrites, isFull: boolean): CacheWrites | undefined {
  if (total === undefined || (total === 0 && known !== undefined && !isFull)) return known
  if (split !== undefined) return sumOf(split) === total ? split : { fiveMinutes: total, oneHour: 0 }
  const oneHour = Math.min(known?.oneHour ?? 0, total)
  return { fiveMinutes: total - oneHour, oneHour }
}

const sumOf = ({ fiveMinutes, oneHour }: CacheWrites): number => fiveMinutes + oneHour

/** All cache writes, as `cache_creation_input_tokens` counts them. */
export const cacheCreationOf = ({ cacheWrites }: ReportedUsage): number => (cacheWrites === undefined ? 0 : sumOf(cacheWrites))

/** True once the upstream has said what was read and what was written: without both, usage is an estimate. */
export const isReported = (reported: ReportedUsage): boolean => reported.input !== undefined && reported.output !== undefined

/** What the reported counters bill, hidden iterations added. */
export const billedUsage = (reported: ReportedUsage): Usage =>
  addUsage(
    {
      input: reported.input ?? 0,
      output: reported.output ?? 0,
      cacheRead: reported.cacheRead ?? 0,
      cacheWrite5m: reported.cacheWrites?.fiveMinutes ?? 0,
      cacheWrite1h: reported.cacheWrites?.oneHour ?? 0,
      serverToolUses: reported.serverToolUses ?? 0,
    },
    reported.hidden,
  )

/** All input tokens: read afresh, read from the cache, and written to it. */
export const promptOf = ({ input, cacheRead, cacheWrite5m, cacheWrite1h }: Usage): number => input + cacheRead + cacheWrite5m + cacheWrite1h

/** The prompt by which a price level is chosen: the largest that the upstream read in one pass, where it lists its passes. */
export const pricedPromptOf = ({ largestPrompt }: ReportedUsage, billed: Usage): number =>
  Math.min(largestPrompt ?? Number.POSITIVE_INFINITY, promptOf(billed))

export const addUsage = (a: Usage, b: Usage): Usage => ({
  input: a.input + b.input,
  output: a.output + b.output,
  cacheRead: a.cacheRead + b.cacheRead,
  cacheWrite5m: a.cacheWrite5m + b.cacheWrite5m,
  cacheWrite1h: a.cacheWrite1h + b.cacheWrite1h,
  serverToolUses: a.serverToolUses + b.serverToolUses,
})

function serverToolUses(value: unknown): number | undefined | 'absurd' {
  if (!isObject(value)) return undefined
  const counts = Object.values(value).filter((count) => count !== null)
  const sum = counts.reduce<number>((total, count) => total + (isCount(count) ? count : Number.NaN), 0)
  return sum <= SERVER_TOOL_USES_MAX ? sum : 'absurd'
}

/** Undefined: no iteration says what it read. */
function largestPromptOf(iterations: readonly unknown[]): number | undefined {
  const prompts = iterations
    .filter(isObject)
    .map((iteration) => mergeUsage(NOT_REPORTED, { ...iteration, iterations: undefined }))
    .filter(({ input }) => input !== undefined)
    .map((reported) => promptOf(billedUsage(reported)))
  return prompts.length === 0 ? undefined : Math.max(...prompts)
}

/** Undefined: no iteration is hidden. */
function hiddenIterations(iterations: readonly unknown[]): Usage | undefined | 'absurd' {
  if (iterations.length === 0) return undefined
  const reported = iterations
    .filter(isObject)
    .filter((iteration) => HIDDEN_ITERATIONS.has(String(iteration['type'])))
    .map((iteration) => mergeUsage(NOT_REPORTED, { ...iteration, iterations: undefined }))
  if (reported.length === 0) return undefined
  const sum = reported.map(billedUsage).reduce(addUsage, NO_USAGE)
  return reported.some(({ absurd }) => absurd) || !Object.values(sum).every(isCount) ? 'absurd' : sum
}

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= COUNTER_MAX
