/** What has been seen of an answer so far, whichever format it is translated to: enough to bill it however it ends. */

import { isObject } from '../json.ts'
import type { Bounds } from '../pricing.ts'
import type { NativeEvent } from '../sse/read-event.ts'
import { addUsage, billedUsage, isReported, mergeUsage, NO_USAGE, NOT_REPORTED, type ReportedUsage, type Usage } from '../usage.ts'

export type Observation = {
  /** `message_start` was seen: from here on an ended stream is billed. */
  hasStarted: boolean
  reported: ReportedUsage
  /** Raw native value; undefined until a `message_delta` names one. */
  stopReason: string | undefined
  stopSequence: string | undefined
  /** Bytes of text, thinking and tool input that were delivered, as JSON literals without their quotes. */
  contentBytes: number
}

export const nothingSeen = (): Observation => ({
  hasStarted: false,
  reported: NOT_REPORTED,
  stopReason: undefined,
  stopSequence: undefined,
  contentBytes: 0,
})

/** Updates the observation with an event that carries usage or the stop reason. */
export function observe(seen: Observation, event: NativeEvent): void {
  if (event.type === 'message_start') {
    if (seen.hasStarted) return
    seen.hasStarted = true
    const message = event.body['message']
    if (isObject(message)) seen.reported = mergeUsage(seen.reported, message['usage'])
  } else if (event.type === 'message_delta') {
    seen.reported = mergeUsage(seen.reported, event.body['usage'])
    const delta = event.body['delta']
    if (!isObject(delta)) return
    if (typeof delta['stop_reason'] === 'string') seen.stopReason = delta['stop_reason']
    if (typeof delta['stop_sequence'] === 'string') seen.stopSequence = delta['stop_sequence']
  }
}

/** A token of text is taken for four bytes where the upstream gave no figure (product.md "What is charged"). */
const BYTES_PER_TOKEN = 4

/** Usage of a complete answer: what was reported, or an estimate where the upstream left it out. */
export function finalUsage(seen: Observation, bounds: Bounds): { usage: Usage; isEstimated: boolean } {
  if (isReported(seen.reported) && !seen.reported.absurd) return { usage: billedUsage(seen.reported), isEstimated: false }
  const known = billedUsage(seen.reported)
  return {
    usage: {
      ...known,
      input: seen.reported.input ?? Math.floor(bounds.bodyBytes / BYTES_PER_TOKEN),
      output: Math.max(known.output, estimatedOutput(seen, bounds)),
    },
    isEstimated: true,
  }
}

/** Usage of an answer that was cut: input exact from `message_start`; output the last cumulative figure or an estimate from what was delivered. */
export function partialUsage(seen: Observation, bounds: Bounds): { usage: Usage; isEstimated: boolean } {
  if (!seen.hasStarted) return { usage: NO_USAGE, isEstimated: false }
  if (seen.stopReason !== undefined) return finalUsage(seen, bounds)
  const known = finalUsage(seen, bounds)
  const more = Math.max(0, estimatedOutput(seen, bounds) - known.usage.output)
  return { usage: addUsage(known.usage, { ...NO_USAGE, output: more }), isEstimated: known.isEstimated || more > 0 }
}

const estimatedOutput = (seen: Observation, bounds: Bounds): number =>
  Math.min(Math.floor(seen.contentBytes / BYTES_PER_TOKEN), bounds.outputTokensMax)
