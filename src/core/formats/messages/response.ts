/**
 * A complete native answer, passed through: its `model` and missing usage counters spliced, every other byte as the upstream sent it.
 * Rules: contract.md "Messages answer"; messages.md "Pass-through".
 */

import { type ByteString, encodeJson, fromBytes, toBytes } from '../../bytes/byte-string.ts'
import type { Span } from '../../bytes/json-scan.ts'
import { applyEdits, type Edit } from '../../bytes/splice.ts'
import type { Model } from '../../catalog.ts'
import type { Call } from '../../format.ts'
import type { NativeMessage } from '../../native/message.ts'
import { finalCounters } from '../../native/observation.ts'
import { costFields } from '../../native/shown-cost.ts'
import type { MessagesEcho } from './request.ts'
import { costEdits, countersOf, jsonSpan, NOTHING_SHOWN, type ObjectAt, objectAt, usageEdits } from './usage.ts'

export function respond(message: NativeMessage, call: Call<MessagesEcho>): Uint8Array {
  const text = fromBytes(message.bytes)
  const whole = objectAt(text, jsonSpan(text, { start: 0, end: text.length }))
  const billed = countersOf(finalCounters(message.observation, call.bounds))
  const edits = [...modelEdits(text, whole, call.model, modelLiteral(text, whole)), ...usageEdits(text, whole, billed, NOTHING_SHOWN)]
  if (call.includesCost) return withCost(applyEdits(text, edits), message, call)
  return edits.length === 0 ? message.bytes : toBytes(applyEdits(text, edits))
}

function withCost(text: ByteString, { observation }: NativeMessage, call: Call<MessagesEcho>): Uint8Array {
  const whole = objectAt(text, jsonSpan(text, { start: 0, end: text.length }))
  return toBytes(applyEdits(text, costEdits(text, whole, costFields(observation, call))))
}

/** What the upstream calls the model in this object, as it stands there: often a snapshot of the name that it was asked for. */
export function modelLiteral(text: ByteString, { members }: ObjectAt): ByteString | undefined {
  const value = members.findLast(({ name }) => name === 'model')?.value
  return value === undefined || text[value.start] !== '"' ? undefined : text.slice(value.start, value.end)
}

/**
 * The client's name for the model in place of the upstream's: in the object's own `model`, and where its `usage` names the same model (`iterations`).
 * `named`: how this answer calls it.
 */
export function modelEdits(text: ByteString, object: ObjectAt, model: Model, named: ByteString | undefined): readonly Edit[] {
  const ours = encodeJson(model.id)
  const theirs = new Set([named ?? ours, encodeJson(model.upstreamModel)])
  theirs.delete(ours)
  if (theirs.size === 0) return []
  const places = object.members.flatMap(({ name, value }) => {
    if (name === 'model') return text[value.start] === '"' ? [value] : []
    return name === 'usage' ? [...theirs].flatMap((literal) => placesOf(text, value, literal)) : []
  })
  return places.map((place) => ({ ...place, text: ours }))
}

/** Where a JSON string literal stands as a value. Inside another literal its quotes would be escaped, so what is found is never part of one. */
function placesOf(text: ByteString, { start, end }: Span, literal: ByteString): readonly Span[] {
  const places: Span[] = []
  for (let at = text.indexOf(literal, start); at !== -1 && at < end; at = text.indexOf(literal, at + literal.length))
    places.push({ start: at, end: at + literal.length })
  return places
}
