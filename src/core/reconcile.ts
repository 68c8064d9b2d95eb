/** Compares the vendor's report of usage with our ledger, by bucket of time and model. Rules: operator.md "Reconciliation". */

import { addUsage, NO_USAGE, type Usage } from './usage.ts'

/** `model` is null when the vendor's report is not split by model. */
export type Entry = Readonly<{ bucket: number; model: string | null; usage: Usage }>

/** `drift` is the vendor's counters minus ours; `isAboveTolerance` when a counter differs by more than the tolerance. */
export type Comparison = Readonly<{
  bucket: number
  model: string | null
  theirs: Usage
  ours: Usage
  drift: Usage
  isAboveTolerance: boolean
}>

/** The vendor reports `claude-sonnet-4-5` under its dated id, such as `claude-sonnet-4-5-20250929`. */
const DATE = /-\d{8}$/

/**
 * Returns one comparison for each bucket and model, sorted by both. `toleranceMillionths` is how far a counter may differ, in millionths of the larger
 * figure. Where the report lacks one of our model ids but has its dated id, our usage counts under the dated id.
 */
export function compareBooks(theirs: readonly Entry[], ours: readonly Entry[], toleranceMillionths: number): readonly Comparison[] {
  const hasModels = theirs.every(({ model }) => model !== null)
  const reported = new Set(theirs.map(({ model }) => model))
  const dated = new Map(
    theirs.flatMap(({ model }) => (model !== null && DATE.test(model) ? [[model.replace(DATE, ''), model] as const] : [])),
  )
  const nameOf = (model: string | null): string | null => {
    if (!hasModels || model === null) return null
    return reported.has(model) ? model : (dated.get(model) ?? model)
  }
  const pairs = new Map<string, { bucket: number; model: string | null; theirs: Usage; ours: Usage }>()
  const pairOf = (bucket: number, model: string | null) => {
    const name = JSON.stringify([bucket, model])
    const pair = pairs.get(name) ?? { bucket, model, theirs: NO_USAGE, ours: NO_USAGE }
    pairs.set(name, pair)
    return pair
  }
  for (const { bucket, model, usage } of theirs) {
    const pair = pairOf(bucket, hasModels ? model : null)
    pair.theirs = addUsage(pair.theirs, usage)
  }
  for (const { bucket, model, usage } of ours) {
    const pair = pairOf(bucket, nameOf(model))
    pair.ours = addUsage(pair.ours, usage)
  }
  return [...pairs.values()]
    .sort((a, b) => a.bucket - b.bucket || (String(a.model) < String(b.model) ? -1 : 1))
    .map((pair) => ({
      ...pair,
      drift: lessUsage(pair.theirs, pair.ours),
      isAboveTolerance: isAboveTolerance(pair.theirs, pair.ours, toleranceMillionths),
    }))
}

const lessUsage = (a: Usage, b: Usage): Usage =>
  addUsage(
    a,
    mapUsage(b, (count) => -count),
  )

function isAboveTolerance(theirs: Usage, ours: Usage, toleranceMillionths: number): boolean {
  const counters = Object.keys(NO_USAGE) as (keyof Usage)[]
  return counters.some((counter) => {
    const [a, b] = [BigInt(theirs[counter]), BigInt(ours[counter])]
    const [larger, smaller] = a > b ? [a, b] : [b, a]
    return (larger - smaller) * 1_000_000n > larger * BigInt(toleranceMillionths)
  })
}

const mapUsage = (usage: Usage, change: (count: number) => number): Usage => ({
  input: change(usage.input),
  output: change(usage.output),
  cacheRead: change(usage.cacheRead),
  cacheWrite5m: change(usage.cacheWrite5m),
  cacheWrite1h: change(usage.cacheWrite1h),
  serverToolUses: change(usage.serverToolUses),
})
