/** A complete native answer, passed through: its `model` and missing usage counters spliced, every other byte as the upstream sent it. Source: wire.md §2.1. */

import { type ByteString, encodeJson, fromBytes, toBytes } from '../../byte-string.ts'
import type { Model } from '../../catalog.ts'
import type { Call } from '../../format.ts'
import type { Span } from '../../json-scan.ts'
import type { NativeMessage } from '../../native/message.ts'
import { finalCounters } from '../../native/observation.ts'
import { countersOf, membersAt, NOTHING_SHOWN, usageEdits } from './counters.ts'
import type { MessagesEcho } from './request.ts'
import { applyEdits, type Edit } from './splice.ts'

export function respond(message: NativeMessage, call: Call<MessagesEcho>): Uint8Array {
  const text = fromBytes(message.bytes)
  const whole: Span = { start: text.indexOf('{'), end: text.lastIndexOf('}') + 1 }
  const billed = countersOf(finalCounters(message.observation, call.bounds))
  const edits = [...modelEdits(text, whole, call.model), ...usageEdits(text, whole, billed, NOTHING_SHOWN)]
  return edits.length === 0 ? message.bytes : toBytes(applyEdits(text, edits))
}

/** The upstream's name for the model becomes ours in the message at `span`. */
export function modelEdits(text: ByteString, span: Span, model: Model): readonly Edit[] {
  if (model.id === model.upstreamModel) return []
  const value = membersAt(text, span).findLast(({ name }) => name === 'model')?.value
  return value === undefined || text[value.start] !== '"' ? [] : [{ ...value, text: encodeJson(model.id) }]
}
