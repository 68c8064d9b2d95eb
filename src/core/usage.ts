/** Token usage: the native counters as the wire reports them, merged over a stream, and as they are billed. Rules: wire.md §1.7, product.md "Money". */

import { isObject } from './json.ts'
/** What is billed: whole tokens a class, and uses of the upstream's own tools. Never negative. */
export type Usage = Readonly<{
  input: number
  output: number
  cacheRead: number
  cacheWrite5m: number
  cacheWrite1h: number
  serverToolUses: number
}>

export const NO_USAGE: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0, serverToolUses: 0 }

/** The native `usage` object as it stands after some events. `undefined`: never reported. Counters are cumulative; see `mergeUsage`. */
export type ReportedUsage = Readonly<{
  input: number | undefined
  output: number | undefined
  cacheRead: number | undefined
  cacheCreation: number | undefined
  cacheCreation5m: number | undefined
  cacheCreation1h: number | undefined
  /** Part of `output` that was thinking; shown by the translated formats, priced as output. */
  thinking: number | undefined
  serverToolUses: number | undefined
  /** `usage.iterations` that the top level leaves out: compaction and advisor runs. */
  hidden: Usage
  /** A counter was negative, fractional, not a number or beyond `COUNTER_MAX`; it was ignored. */
  absurd: boolean
}>

export const NOT_REPORTED: ReportedUsage = {
  input: undefined,
  output: undefined,
  cacheRead: undefined,
  cacheCreation: undefined,
  cacheCreation5m: undefined,
  cacheCreation1h: undefined,
  thinking: undefined,
  serverToolUses: undefined,
  hidden: NO_USAGE,
  absurd: false,
}

/**
 * No request reads or writes this many tokens: windows end at a few million, and hidden iterations are a few windows. A larger counter, or sum, is a
 * broken upstream's; what it would cost must not reach an account.
 */
const COUNTER_MAX = 20_000_000
const SERVER_TOOL_USES_MAX = 10_000
/** Iteration types whose tokens the top-level totals exclude. */
const HIDDEN_ITERATIONS = new Set(['compaction', 'advisor_message'])

/**
 * Merges a later native `usage` object into what was known: the newest number wins, except that a 0 does not replace an earlier positive value
 * (some upstreams send 0 for what they do not repeat). Counters are totals, never increments.
 */
export function mergeUsage(known: ReportedUsage, usage: unknown): ReportedUsage {
  if (!isObject(usage)) return known
  const creation = isObject(usage['cache_creation']) ? usage['cache_creation'] : {}
  const details = isObject(usage['output_tokens_details']) ? usage['output_tokens_details'] : {}
  let absurd = known.absurd
  const newest = (before: number | undefined, value: unknown): number | undefined => {
    if (value === undefined || value === null) return before
    if (!isCount(value)) {
      absurd = true
      return before
    }
    return value === 0 && before !== undefined ? before : value
  }
  const counters = {
    input: newest(known.input, usage['input_tokens']),
    output: newest(known.output, usage['output_tokens']),
    cacheRead: newest(known.cacheRead, usage['cache_read_input_tokens']),
    cacheCreation: newest(known.cacheCreation, usage['cache_creation_input_tokens']),
    cacheCreation5m: newest(known.cacheCreation5m, creation['ephemeral_5m_input_tokens']),
    cacheCreation1h: newest(known.cacheCreation1h, creation['ephemeral_1h_input_tokens']),
    thinking: newest(known.thinking, details['thinking_tokens']),
  }
  const uses = serverToolUses(usage['server_tool_use'])
  const hidden = Array.isArray(usage['iterations']) ? hiddenIterations(usage['iterations']) : known.hidden
  return {
    ...counters,
    serverToolUses: uses === 'absurd' ? known.serverToolUses : newest(known.serverToolUses, uses),
    hidden: hidden === 'absurd' ? known.hidden : hidden,
    absurd: absurd || uses === 'absurd' || hidden === 'absurd',
  }
}

/** True once the upstream has said what was read and what was written: without both, usage is an estimate. */
export const isReported = (reported: ReportedUsage): boolean => reported.input !== undefined && reported.output !== undefined

/** What the reported counters bill: the 5 m / 1 h split of cache writes where the vendor gives it, else all of them as 5 m; hidden iterations added. */
export function billedUsage(reported: ReportedUsage): Usage {
  const split = cacheWrites(reported.cacheCreation, reported.cacheCreation5m, reported.cacheCreation1h)
  return addUsage(
    {
      input: reported.input ?? 0,
      output: reported.output ?? 0,
      cacheRead: reported.cacheRead ?? 0,
      cacheWrite5m: split.fiveMinutes,
      cacheWrite1h: split.oneHour,
      serverToolUses: reported.serverToolUses ?? 0,
    },
    reported.hidden,
  )
}

export const addUsage = (a: Usage, b: Usage): Usage => ({
  input: a.input + b.input,
  output: a.output + b.output,
  cacheRead: a.cacheRead + b.cacheRead,
  cacheWrite5m: a.cacheWrite5m + b.cacheWrite5m,
  cacheWrite1h: a.cacheWrite1h + b.cacheWrite1h,
  serverToolUses: a.serverToolUses + b.serverToolUses,
})

/** The total wins over its parts: what the parts do not explain is 5 m, and a 1 h part never exceeds the total. */
function cacheWrites(total: number | undefined, part5m = 0, part1h = 0): { fiveMinutes: number; oneHour: number } {
  const all = total ?? part5m + part1h
  const oneHour = Math.min(part1h, all)
  return { fiveMinutes: all - oneHour, oneHour }
}

function serverToolUses(value: unknown): number | undefined | 'absurd' {
  if (!isObject(value)) return undefined
  const counts = Object.values(value).filter((count) => count !== null)
  const sum = counts.reduce<number>((total, count) => total + (isCount(count) ? count : Number.NaN), 0)
  return sum <= SERVER_TOOL_USES_MAX ? sum : 'absurd'
}

function hiddenIterations(iterations: readonly unknown[]): Usage | 'absurd' {
  const reported = iterations
    .filter(isObject)
    .filter((iteration) => HIDDEN_ITERATIONS.has(String(iteration['type'])))
    .map((iteration) => mergeUsage(NOT_REPORTED, { ...iteration, iterations: undefined }))
  const sum = reported.map(billedUsage).reduce(addUsage, NO_USAGE)
  return reported.some(({ absurd }) => absurd) || !Object.values(sum).every(isCount) ? 'absurd' : sum
}

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= COUNTER_MAX
