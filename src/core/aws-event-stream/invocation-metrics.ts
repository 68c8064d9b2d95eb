/** Bedrock's own count of an answer, compared with the usage that the answer states: a check on our count. Rules: native.md "Binary frames". */

import { isObject } from '../json.ts'
import { cacheCreationOf, type ReportedUsage } from '../usage.ts'

/** So begin the names of the members that the door adds to the vendor's events and messages. */
export const DOOR_PREFIX = 'amazon-bedrock-'
export const METRICS_FIELD = 'amazon-bedrock-invocationMetrics'

/** The first counter that differs: its name, our count, and theirs. */
export type CountDifference = Readonly<{ counter: 'input' | 'output' | 'cache_read' | 'cache_write'; ours: number; theirs: number }>

/**
 * `metrics` is the field's value. Undefined where nothing differs, or where one side has no figure. Whether their input includes the cached tokens is not documented:
 * a figure that fits either way is no difference.
 */
export function countDifference(reported: ReportedUsage, metrics: unknown): CountDifference | undefined {
  if (!isObject(metrics)) return undefined
  const { input, output, cacheRead = 0 } = reported
  const cacheWrite = cacheCreationOf(reported)
  const { inputTokenCount, outputTokenCount, cacheReadInputTokenCount, cacheWriteInputTokenCount } = metrics
  const counters = [
    ['output', output, outputTokenCount, output],
    ['cache_read', cacheRead, cacheReadInputTokenCount, cacheRead],
    ['cache_write', cacheWrite, cacheWriteInputTokenCount, cacheWrite],
    ['input', input, inputTokenCount, (input ?? 0) + cacheRead + cacheWrite],
  ] as const
  for (const [counter, ours, theirs, otherwise] of counters)
    if (ours !== undefined && typeof theirs === 'number' && theirs !== ours && theirs !== otherwise) return { counter, ours, theirs }
  return undefined
}
