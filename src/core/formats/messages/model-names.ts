/**
 * The client's name for the model in place of the upstream's, wherever an answer names one that we are billed for: the client pays for the one that it asked for,
 * and knows no other. Rules: messages.md "Pass-through".
 */

import { type ByteString, encodeJson } from '../../bytes/byte-string.ts'
import { elementsOf, type Span } from '../../bytes/json-scan.ts'
import type { Edit } from '../../bytes/splice.ts'
import type { Model } from '../../catalog.ts'
import { type ObjectAt, objectAt } from './usage.ts'

/** What the upstream calls the model in this object, as it stands there: often a snapshot of the name that it was asked for. */
export function modelLiteral(text: ByteString, object: ObjectAt): ByteString | undefined {
  const place = modelPlace(text, object)
  return place && text.slice(place.start, place.end)
}

/**
 * Edits of the object's own `model`, and of where its `usage` names a model by one of the same names (`iterations`). `named`: how this answer calls it.
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

/** Where a `fallback` block names the model that was asked for and the one that answered instead. */
export function fallbackPlaces(text: ByteString, block: ObjectAt): readonly Span[] {
  const type = block.members.findLast(({ name }) => name === 'type')?.value
  if (type === undefined || text.slice(type.start, type.end) !== FALLBACK) return []
  return block.members.flatMap(({ name, value }) => {
    if (name !== 'from' && name !== 'to') return []
    if (text[value.start] === '"') return [value]
    return text[value.start] === '{' ? (modelPlace(text, objectAt(text, value)) ?? []) : []
  })
}

/** The same for all of a whole answer's blocks. */
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

/** Where a JSON string literal stands as a value. Inside another literal its quotes would be escaped, so what is found is never part of one. */
function placesOf(text: ByteString, { start, end }: Span, literal: ByteString): readonly Span[] {
  const places: Span[] = []
  for (let at = text.indexOf(literal, start); at !== -1 && at < end; at = text.indexOf(literal, at + literal.length))
    places.push({ start: at, end: at + literal.length })
  return places
}
