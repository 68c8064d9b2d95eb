/**
 * What was noted of a heavy native body beside the loop, so that the loop reads none of it: where each kind of upstream cuts it, and whether it thinks. Rules:
 * requests.md "Heavy bodies"; doors.md "Edits".
 */

import { EMPTY } from '../bytes/byte-string.ts'
import { edited, placeAfter } from '../bytes/splice.ts'
import type { BodyCuts } from './body-cuts.ts'
import { cutsOf, droppedFields } from './edit-body.ts'
import { type ThinkingSigns, thinkingSigns } from './thinking-signs.ts'

/** `modelAt`: where the JSON string that names the model begins. */
export type PlacedBody = Readonly<{ body: Uint8Array; modelAt: number }>

/** `paths`: see `pathsKey`. `made`: the body without what is cut, where there are many cuts; then no span is left to cut. */
export type NotedCuts = BodyCuts & Readonly<{ paths: string; made?: PlacedBody }>

export type BodyNotes = Readonly<{ cuts: readonly NotedCuts[]; thinking: ThinkingSigns }>

/** By which the cuts of these paths are found again. */
export const pathsKey = (paths: readonly string[]): string => paths.join(' ')

/** Each span is a piece more to write; with more of them than this the body is written anew here, where that stops no stream. */
const SPANS_MAX = 64

/** `lists`: what each kind of upstream drops, as paths. */
export const notesOf = (placed: PlacedBody, lists: readonly (readonly string[])[]): BodyNotes => ({
  cuts: lists.map((paths) => notedCuts(placed, paths)),
  thinking: thinkingSigns(placed.body),
})

function notedCuts({ body, modelAt }: PlacedBody, paths: readonly string[]): NotedCuts {
  const cuts = { ...cutsOf(body, droppedFields(paths)), paths: pathsKey(paths) }
  if (cuts.spans.length <= SPANS_MAX) return cuts
  const edits = cuts.spans.map((span) => ({ ...span, text: EMPTY }))
  return { ...cuts, spans: [], made: { body: edited(body, edits), modelAt: placeAfter(edits, modelAt) } }
}
