/**
 * The client's name for the model in place of the upstream's, wherever an answer names a model that we are billed for: the client pays for the model that it asked for,
 * and knows no other name. Rules: messages.md "Pass-through".
 */

import { type ByteString, encodeJson } from '../../bytes/byte-string.ts'
import { elementsOf, type Span } from '../../bytes/json-scan.ts'
import type { Edit } from '../../bytes/splice.ts'
import type { Model } from '../../catalog.ts'
import { type ObjectAt, objectAt } from './usage.ts'

/** The JSON literal of the model in this object: often a snapshot of the model that was asked for. */
export function modelLiteral(text: ByteString, object: ObjectAt): ByteString | undefined {
  const place = modelPlace(text, object)
  return place && text.slice(place.start, place.end)
}

/**
 * Edits the object's own `model`, and the places in its `usage` (`iterations`) that name the model by its upstream id or by one of `named`, the names in this answer.
 */
export function modelEdits(text: ByteString, object: ObjectAt, model: Model, named: readonly ByteString[]): readonly Edit[] {
  const ours = encodeJson(model.id)
  const theirs = new Set([...named, encodeJson(model.upstreamModel)])
  theirs.delete(ours)
  if (theirs.size === 0) return []
  const places = object.members.flatMap(({ name, value }) => {
    if (name === 'model') return text[value.start] === '"' ? [value] : []
    return name === 'usage' ? [...theirs].flatMap((literal) => placesOf(text, value, literal)) : []
  })
  return places.map((place) => ({ ...place, text: ours }))
}

/** The places where a `fallback` block names the model that was asked for and the one that answered instead. */
export function fallbackPlaces(text: ByteString, block: ObjectAt): readonly Span[] {
  const type = block.members.findLast(({ name }) => name === 'type')?.value
  if (type === undefined || text.slice(type.start, type.end) !== FALLBACK) return []
  return block.members.flatMap(({ name, value }) => {
    if (name !== 'from' && name !== 'to') return []
    if (text[value.start] === '"') return [value]
    return text[value.start] === '{' ? (modelPlace(text, objectAt(text, value)) ?? []) : []
  })
}

/** These places in all blocks of a whole answer. */
export function fallbackPlacesOfContent(text: ByteString, message: ObjectAt): readonly Span[] {
  const content = message.members.findLast(({ name }) => name === 'content')?.value
  const mayHave = content !== undefined && text.indexOf(FALLBACK, content.start) !== -1
  return mayHave ? elementsOf(text, content).flatMap((block) => fallbackPlaces(text, objectAt(text, block))) : []
}

export const renamed = (places: readonly Span[], model: Model): readonly Edit[] =>
  places.map((place) => ({ ...place, text: encodeJson(model.id) }))

const FALLBACK = encodeJson('fallback')

function modelPlace(text: ByteString, { members }: ObjectAt): Span | undefined {
  const value = members.findLast(({ name }) => name === 'model')?.value
  return value === undefined || text[value.start] !== '"' ? undefined : value
}

/** The places where a JSON string literal stands. Inside another literal its quotes would be escaped, so a match is never part of another one. */
function placesOf(text: ByteString, { start, end }: Span, literal: ByteString): readonly Span[] {
  const places: Span[] = []
  for (let at = text.indexOf(literal, start); at !== -1 && at < end; at = text.indexOf(literal, at + literal.length))
    places.push({ start: at, end: at + literal.length })
  return places
}
