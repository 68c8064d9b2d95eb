/**
 * The vendor's own books: the usage report of its admin API, which has buckets of time with each model's use. Pages and files are put together; a row that is
 * in two of them counts once. Source: https://platform.claude.com/docs/en/api/admin-api/usage-cost/get-messages-usage-report. Rules: operator.md
 * "Reconciliation".
 */

import { isObject } from '../../core/json.ts'
import { addUsage, NO_USAGE, type Usage } from '../../core/usage.ts'
import { isoTime } from '../../core/utc.ts'

/** `model`: null if the report does not tell models apart. Times are Unix milliseconds. */
type ReportedUse = Readonly<{ model: string | null; usage: Usage }>
type Bucket = Readonly<{ from: number; to: number; uses: readonly ReportedUse[] }>
/** Buckets of one width, in the order of time. `isCut`: the report has more pages than were given. */
export type UsageReport = Readonly<{ buckets: readonly Bucket[]; widthMs: number; isCut: boolean }>

/** `problem`: what is wrong with the report, in words for the operator. */
export type ReportProblem = Readonly<{ problem: string }>

type Page = Readonly<{ buckets: readonly Bucket[]; hasMore: boolean }>

/** `documents`: pages, or arrays of pages, as the API gave them. `apiKeyIds`: only what these keys used; undefined: all. */
export function readUsageReport(documents: readonly unknown[], apiKeyIds: readonly string[] | undefined): UsageReport | ReportProblem {
  const byStart = new Map<number, Bucket>()
  let lastPages = 0
  const pages = documents.flatMap((document) => (Array.isArray(document) ? document : [document]))
  for (const document of pages) {
    const page = pageOf(document, apiKeyIds)
    if ('problem' in page) return page
    if (!page.hasMore) lastPages++
    for (const bucket of page.buckets) {
      const known = byStart.get(bucket.from)
      if (known !== undefined && JSON.stringify(known) !== JSON.stringify(bucket))
        return { problem: `the bucket of ${isoTime(bucket.from)} stands in it twice, with other figures` }
      byStart.set(bucket.from, bucket)
    }
  }
  const buckets = [...byStart.values()].sort((a, b) => a.from - b.from)
  const [first] = buckets
  if (first === undefined) return { problem: 'it has no bucket' }
  const widthMs = first.to - first.from
  const odd = buckets.find(({ from, to }) => to - from !== widthMs || (from - first.from) % widthMs !== 0)
  if (odd !== undefined) return { problem: `its buckets are of different widths: see that of ${isoTime(odd.from)}` }
  return { buckets, widthMs, isCut: lastPages === 0 }
}

function pageOf(document: unknown, apiKeyIds: readonly string[] | undefined): Page | ReportProblem {
  const data = isObject(document) ? document['data'] : undefined
  if (!isObject(document) || !Array.isArray(data)) return { problem: 'it is no usage report: there is no list "data"' }
  const buckets: Bucket[] = []
  for (const [index, one] of data.entries()) {
    const bucket = bucketOf(one, apiKeyIds)
    if (bucket === undefined) return { problem: `it is no usage report: data[${index}] is no bucket of use` }
    buckets.push(bucket)
  }
  return { buckets, hasMore: document['has_more'] === true }
}

function bucketOf(value: unknown, apiKeyIds: readonly string[] | undefined): Bucket | undefined {
  if (!isObject(value) || !Array.isArray(value['results'])) return undefined
  const [from, to] = [timeOf(value['starting_at']), timeOf(value['ending_at'])]
  if (from === undefined || to === undefined || to <= from) return undefined
  const byModel = new Map<string | null, Usage>()
  for (const result of value['results']) {
    const usage = isObject(result) ? usageOf(result) : undefined
    if (!isObject(result) || usage === undefined) return undefined
    const [key, model] = [result['api_key_id'], result['model']]
    if (apiKeyIds !== undefined && !apiKeyIds.some((id) => id === key)) continue
    const name = typeof model === 'string' ? model : null
    byModel.set(name, addUsage(byModel.get(name) ?? NO_USAGE, usage))
  }
  return { from, to, uses: [...byModel].map(([model, usage]) => ({ model, usage })) }
}

const timeOf = (value: unknown): number | undefined => {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}

function usageOf(result: Readonly<Record<string, unknown>>): Usage | undefined {
  const writes = isObject(result['cache_creation']) ? result['cache_creation'] : {}
  const tools = isObject(result['server_tool_use']) ? result['server_tool_use'] : {}
  const usage = {
    input: countOf(result['uncached_input_tokens']),
    output: countOf(result['output_tokens']),
    cacheRead: countOf(result['cache_read_input_tokens']),
    cacheWrite5m: countOf(writes['ephemeral_5m_input_tokens']),
    cacheWrite1h: countOf(writes['ephemeral_1h_input_tokens']),
    serverToolUses: Object.values(tools).reduce<number>((sum, uses) => sum + countOf(uses), 0),
  }
  return Object.values(usage).every((count) => Number.isSafeInteger(count) && count >= 0) ? usage : undefined
}

/** A missing counter is 0; a counter that is no number makes the report a problem. */
const countOf = (value: unknown): number => (value === undefined || value === null ? 0 : typeof value === 'number' ? value : Number.NaN)
