/** The usage that the translated formats show: exactly the figures that are billed. Rules: contract.md "Usage"; translation.md "Shown usage". */

import { finalUsage, type Observation } from '../../native/observation.ts'
import type { Bounds } from '../../pricing.ts'

/** Figures in tokens. `prompt` includes cache tokens; `reasoning` is a part of `completion`. */
export type ShownUsage = Readonly<{
  prompt: number
  completion: number
  total: number
  cacheRead: number
  /** Both kinds of cache writes; `cacheWrite1h` is the dearer part of it. */
  cacheWrite: number
  cacheWrite1h: number
  reasoning: number
}>

export function shownUsage(seen: Observation, bounds: Bounds): ShownUsage {
  const { usage } = finalUsage(seen, bounds)
  const cacheWrite = usage.cacheWrite5m + usage.cacheWrite1h
  const prompt = usage.input + usage.cacheRead + cacheWrite
  return {
    prompt,
    completion: usage.output,
    total: prompt + usage.output,
    cacheRead: usage.cacheRead,
    cacheWrite,
    cacheWrite1h: usage.cacheWrite1h,
    reasoning: Math.min(seen.reported.thinking ?? 0, usage.output),
  }
}
