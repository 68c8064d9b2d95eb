/** Replaces pieces of text or bytes and leaves every other byte alone. Rules: requests.md "Exact bytes". */

import type { Body } from '../body.ts'
import { type ByteString, concat, EMPTY, join } from './byte-string.ts'

/** `text` takes the place of `[start, end)`. */
export type Edit = Readonly<{ start: number; end: number; text: ByteString }>

/** The text between `from` and `to`, edited. Edits may come in any order but must not overlap; those that start outside are not looked at. */
export function applyEdits(text: ByteString, edits: readonly Edit[], from = 0, to: number = text.length): ByteString {
  const parts: ByteString[] = []
  let at = from
  for (const edit of within(edits, from, to)) {
    parts.push(text.slice(at, edit.start), edit.text)
    at = edit.end
  }
  return concat(join(parts), text.slice(at, to))
}

const within = (edits: readonly Edit[], from: number, to: number): readonly Edit[] =>
  edits.filter(({ start }) => start >= from && start < to).sort((a, b) => a.start - b.start)

/**
 * The edits that give some top-level members new values, or remove them where the new value is undefined. Of a repeated name only the last occurrence is kept, so that
 * every parser reads what was checked. The edits are in order.
 */
export function memberEdits(body: Body, changes: ReadonlyMap<string, ByteString | undefined>): readonly Edit[] {
  // Where there are more members than names, a name is repeated.
  const isRepeated = body.members.length > Object.keys(body.json).length
  const last = isRepeated ? new Map(body.members.map(({ name }, index) => [name, index])) : undefined
  const isKept = ({ name }: { name: string }, index: number): boolean =>
    (last === undefined || last.get(name) === index) && (!changes.has(name) || changes.get(name) !== undefined)
  const edits = [...removals(body, isKept)]
  body.members.forEach((member, index) => {
    const text = changes.get(member.name)
    if (text !== undefined && isKept(member, index)) edits.push({ ...member.value, text })
  })
  return edits.sort((a, b) => a.start - b.start)
}

/** Without edits, the result is the very same array. */
export const edited = (bytes: Uint8Array, edits: readonly Edit[]): Uint8Array => (edits.length === 0 ? bytes : spliceBytes(bytes, edits))

/** Where a place outside the edits stands once they are applied. */
export const placeAfter = (edits: readonly Edit[], place: number): number =>
  edits.reduce((at, { start, end, text }) => (start < place ? at + text.length - (end - start) : at), place)

const BRACE = 0x7b
const COMMA = 0x2c

/**
 * A removed member takes the comma before it; removed members at the front take the comma after them. From the end of one value to the end of the next
 * there is exactly one comma and one name.
 */
function* removals({ bytes, members }: Body, isKept: (member: Body['members'][number], index: number) => boolean): Generator<Edit> {
  const first = members.findIndex(isKept)
  const front = first === -1 ? members.at(-1) : members[first - 1]
  if (front !== undefined) {
    const end = first === -1 ? front.value.end : bytes.indexOf(COMMA, front.value.end) + 1
    yield { start: bytes.indexOf(BRACE) + 1, end, text: EMPTY }
  }
  for (let index = Math.max(first, 0) + 1; first !== -1 && index < members.length; index++) {
    const before = members[index - 1]
    const member = members[index]
    if (before !== undefined && member !== undefined && !isKept(member, index))
      yield { start: before.value.end, end: member.value.end, text: EMPTY }
  }
}

const spliceBytes = (bytes: Uint8Array, edits: readonly Edit[]): Uint8Array => Buffer.concat(splicedPieces(bytes, edits))

/** The edited bytes as pieces, none of them empty: what no edit touches is not copied. */
export function splicedPieces(bytes: Uint8Array, edits: readonly Edit[]): readonly Uint8Array[] {
  const pieces: Uint8Array[] = []
  let at = 0
  for (const { start, end, text } of within(edits, 0, bytes.length)) {
    if (start > at) pieces.push(bytes.subarray(at, start))
    if (text.length > 0) pieces.push(Buffer.from(text, 'latin1'))
    at = end
  }
  if (at < bytes.length) pieces.push(bytes.subarray(at))
  return pieces
}
