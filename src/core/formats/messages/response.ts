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

/** The upstream's name for the model becomes ours in the object at `span`: its own `model`, and those that its `usage` names (`iterations`). */
export function modelEdits(text: ByteString, span: Span, model: Model): readonly Edit[] {
  if (model.id === model.upstreamModel) return []
  const members = membersAt(text, span)
  const own = members.findLast(({ name }) => name === 'model')?.value
  const usage = members.findLast(({ name }) => name === 'usage')?.value
  const ours = encodeJson(model.id)
  const inUsage = usage === undefined || text[usage.start] !== '{' ? [] : placesOf(text, usage, encodeJson(model.upstreamModel))
  const all = own === undefined || text[own.start] !== '"' ? inUsage : [own, ...inUsage]
  return all.map((place) => ({ ...place, text: ours }))
}

/** Where a JSON string literal stands as a value. Inside another literal its quotes would be escaped, so what is found is never part of one. */
function placesOf(text: ByteString, { start, end }: Span, literal: ByteString): readonly Span[] {
  const places: Span[] = []
  for (let at = text.indexOf(literal, start); at !== -1 && at < end; at = text.indexOf(literal, at + literal.length))
    places.push({ start: at, end: at + literal.length })
  return places
}
