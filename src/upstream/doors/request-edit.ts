/** What a door changes in a request, the same on every turn of a conversation. Rules: doors.md "Edits". */

import { ascii, type ByteString, encodeJson } from '../../core/bytes/byte-string.ts'
import { type Edit, splicedPieces } from '../../core/bytes/splice.ts'
import type { RequestEdits } from '../../core/door.ts'
import type { BodyCuts, DroppedFields } from '../../core/native/body-cuts.ts'
import { type NotedCuts, pathsKey } from '../../core/native/body-notes.ts'
import { cutsOf, droppedFields, editsOf } from '../../core/native/edit-body.ts'
import { renaming } from '../native-request.ts'
import type { UpstreamRequest } from '../upstream.ts'
import type { Door, EditedRequest, Pieces } from './door.ts'

/** What a kind of upstream changes beside what its operator asks for. `without`: top-level members that the kind moves elsewhere. */
export type KindEdit = Readonly<{
  without?: readonly string[]
  /** Members to add, as JSON, such as `"a":1`. */
  added?: (request: UpstreamRequest, cuts: BodyCuts) => readonly ByteString[]
  /** The version is not sent in a header. */
  hasNoVersion?: boolean
  /** Betas are sent in the body, too, as `anthropic_beta`. */
  betasInBody?: boolean
}>

/** Undefined: no request is changed. */
export function requestEdit(edits: EditLists, kind: KindEdit = {}): Door['edit'] {
  const { without = [], added, hasNoVersion = false, betasInBody = false } = kind
  const isPlain = edits.dropBetas.length === 0 && Object.keys(edits.renameBetas).length === 0 && edits.dropFields.length === 0
  if (isPlain && without.length === 0 && added === undefined && !hasNoVersion && !betasInBody) return undefined
  const paths = [...without, ...edits.dropFields]
  const dropped = droppedFields(paths)
  const find = finderOf(paths, dropped)
  const isNameless = dropped.get('model')?.isWhole === true
  return (asked) => {
    const betas = betasOf(asked.betas, edits)
    const request = { ...asked, version: hasNoVersion ? '' : asked.version, betas }
    if (dropped.size === 0 && added === undefined && !betasInBody) return { ...request, sent: asItIs(request) }
    const cuts = find(asked)
    const members = [...(added?.(asked, cuts) ?? []), ...(betasInBody && betas !== '' ? [betaMember(betas)] : [])]
    const { body, modelAt } = cuts.made ?? { body: asked.body, modelAt: asked.named?.at ?? 0 }
    const renamed = isNameless || asked.named === undefined ? [] : renaming({ ...asked, named: { ...asked.named, at: modelAt } })
    return { ...request, sent: piecesOf(body, [...editsOf(cuts, members), ...renamed]) }
  }
}

/** The cuts that were noted where the body was read. A light body has none noted, nor has one that was read before a reload dropped other fields: it is looked through now. */
function finderOf(paths: readonly string[], dropped: DroppedFields): (request: UpstreamRequest) => Omit<NotedCuts, 'paths'> {
  const key = pathsKey(paths)
  return ({ body, notes }) => notes?.cuts.find((noted) => noted.paths === key) ?? cutsOf(body, dropped)
}

/** The request as the door's server takes it. */
export function editedBy({ edit }: Pick<Door, 'edit'>, request: UpstreamRequest): EditedRequest {
  return edit === undefined ? { ...request, sent: asItIs(request) } : edit(request)
}

/** The body with no change but the model's name, where this upstream knows the model by another. */
const asItIs = (request: UpstreamRequest): Pieces =>
  request.named === undefined ? [request.body] : splicedPieces(request.body, renaming(request))

function piecesOf(body: Uint8Array, edits: readonly Edit[]): Pieces {
  const pieces = splicedPieces(body, edits)
  return pieces.length > PIECES_MAX ? [Buffer.concat(pieces)] : pieces
}

/** Each piece is a write of its own. Only light bodies, whose cuts were not noted, have more: they are cheap to join. */
const PIECES_MAX = 200

const betaMember = (betas: string): ByteString => ascii`"anthropic_beta":${encodeJson(betas.split(','))}`

export type EditLists = Pick<RequestEdits, 'dropBetas' | 'renameBetas' | 'dropFields'>

function betasOf(betas: string, { dropBetas, renameBetas }: EditLists): string {
  if (betas === '') return betas
  const isDropped = (beta: string): boolean =>
    dropBetas.some((name) => (name.endsWith('*') ? beta.startsWith(name.slice(0, -1)) : beta === name))
  const names = betas
    .split(',')
    .flatMap((beta) => (isDropped(beta) ? [] : [Object.hasOwn(renameBetas, beta) ? (renameBetas[beta] ?? beta) : beta]))
  return [...new Set(names)].join(',')
}
