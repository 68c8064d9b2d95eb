/** What a door changes in a request, the same on every turn of a conversation. Rules: doors.md "Edits". */

import { ascii, type ByteString, encodeJson } from '../../core/bytes/byte-string.ts'
import type { RequestEdits } from '../../core/door.ts'
import { type DroppedFields, droppedFields, editBody } from '../../core/native/edit-body.ts'
import type { UpstreamRequest } from '../upstream.ts'
import type { Door } from './door.ts'

/** What a kind of upstream changes beside what its operator asks for. `without`: top-level members that the kind moves elsewhere. */
export type KindEdit = Readonly<{
  without?: readonly string[]
  /** Members to add, as JSON, such as `"a":1`. */
  added?: (request: UpstreamRequest) => readonly ByteString[]
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
  const dropped: DroppedFields = droppedFields([...without, ...edits.dropFields])
  return (request) => {
    const betas = betasOf(request.betas, edits)
    const members = [...(added?.(request) ?? []), ...(betasInBody && betas !== '' ? [betaMember(betas)] : [])]
    const body = dropped.size === 0 && members.length === 0 ? request.body : editBody(request.body, dropped, members)
    return { ...request, body, version: hasNoVersion ? '' : request.version, betas }
  }
}

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
