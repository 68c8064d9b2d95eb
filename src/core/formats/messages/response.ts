/**
 * A complete native answer, passed through: its `model` and missing usage counters spliced, every other byte as the upstream sent it.
 * Rules: contract.md "Messages answer"; messages.md "Pass-through".
 */

import { type ByteString, fromBytes, toBytes } from '../../bytes/byte-string.ts'
import { applyEdits } from '../../bytes/splice.ts'
import type { Call } from '../../format.ts'
import type { NativeMessage } from '../../native/message.ts'
import { finalCounters } from '../../native/observation.ts'
import { costFields } from '../../native/shown-cost.ts'
import { fallbackPlacesOfContent, modelEdits, modelLiteral, renamed } from './model-names.ts'
import type { MessagesEcho } from './request.ts'
import { costEdits, countersOf, jsonSpan, NOTHING_SHOWN, objectAt, usageEdits } from './usage.ts'

export function respond(message: NativeMessage, call: Call<MessagesEcho>): Uint8Array {
  const text = fromBytes(message.bytes)
  const whole = objectAt(text, jsonSpan(text, { start: 0, end: text.length }))
  const billed = countersOf(finalCounters(message.observation, call.bounds))
  const fallbacks = fallbackPlacesOfContent(text, whole)
  const named = [modelLiteral(text, whole) ?? [], fallbacks.map(({ start, end }) => text.slice(start, end))].flat()
  const edits = [
    ...renamed(fallbacks, call.model),
    ...modelEdits(text, whole, call.model, named),
    ...usageEdits(text, whole, billed, NOTHING_SHOWN),
  ]
  if (call.includesCost) return withCost(applyEdits(text, edits), message, call)
  return edits.length === 0 ? message.bytes : toBytes(applyEdits(text, edits))
}

function withCost(text: ByteString, { observation }: NativeMessage, call: Call<MessagesEcho>): Uint8Array {
  const whole = objectAt(text, jsonSpan(text, { start: 0, end: text.length }))
  return toBytes(applyEdits(text, costEdits(text, whole, costFields(observation, call))))
}
