/**
 * Removes members from a native body, puts others at its front, and leaves every other byte as the client sent it: a thinking block's signature depends on what stands
 * before it. Rules: doors.md "Edits"; requests.md "Exact bytes".
 */

import { ascii, type ByteString, EMPTY, fromBytes, join } from '../bytes/byte-string.ts'
import { elementsOf, type Member, membersOf, type Span } from '../bytes/json-scan.ts'
import { type Edit, edited } from '../bytes/splice.ts'

/** What is dropped of an object, by the names of its members: the member itself, fields inside it, or fields of each of its elements. */
export type DroppedFields = ReadonlyMap<string, DroppedField>
type DroppedField = Readonly<{ isWhole: boolean; inside: DroppedFields; each: DroppedFields }>

/** `paths` are such as `output_format` and `messages[].content[].cache_control.scope`. */
export function droppedFields(paths: readonly string[]): DroppedFields {
  const parts = paths.map((path) => /^([^.[\]]+)(\[\])?(?:\.(.+))?$/.exec(path) ?? [])
  const names = new Set(parts.flatMap(([, name]) => (name === undefined ? [] : [name])))
  return new Map(
    [...names].map((name) => {
      const own = parts.filter(([, one]) => one === name)
      const behind = (isEach: boolean): readonly string[] =>
        own.flatMap(([, , each, rest]) => (rest !== undefined && (each !== undefined) === isEach ? [rest] : []))
      const isWhole = own.some(([, , each, rest]) => each === undefined && rest === undefined)
      return [name, { isWhole, inside: droppedFields(behind(false)), each: droppedFields(behind(true)) }]
    }),
  )
}

/** `bytes`: a JSON object that parsed before. `added`: members as JSON, such as `"a":1`, whose names the object does not have. */
export function editBody(bytes: Uint8Array, dropped: DroppedFields, added: readonly ByteString[]): Uint8Array {
  const text = fromBytes(bytes)
  const start = text.indexOf('{')
  const members = membersIn(text, { start: 0, end: text.length })
  const edits: Edit[] = []
  if (added.length > 0) {
    const isAlone = members.every(({ name }) => dropped.get(name)?.isWhole === true)
    const list = join(added, ascii`,`)
    edits.push({ start: start + 1, end: start + 1, text: isAlone ? list : ascii`${list},` })
  }
  drop(text, start, members, dropped, edits)
  return edited(bytes, edits)
}

/** `start`: where the object that has these members begins. */
function drop(text: ByteString, start: number, members: readonly Member[], dropped: DroppedFields, edits: Edit[]): void {
  if (dropped.size === 0) return
  const isDropped = ({ name }: Member): boolean => dropped.get(name)?.isWhole === true
  edits.push(...removals(text, start, members, isDropped))
  for (const member of members) {
    const field = dropped.get(member.name)
    if (field === undefined || field.isWhole) continue
    dropIn(text, member.value, field.inside, edits)
    if (field.each.size > 0 && text[member.value.start] === '[')
      for (const element of elementsOf(text, member.value)) dropIn(text, element, field.each, edits)
  }
}

function dropIn(text: ByteString, value: Span, dropped: DroppedFields, edits: Edit[]): void {
  if (dropped.size > 0 && text[value.start] === '{') drop(text, value.start, membersIn(text, value), dropped, edits)
}

const membersIn = (text: ByteString, { start, end }: Span): readonly Member[] =>
  membersOf(text.slice(start, end)).map(({ name, value }) => ({ name, value: { start: start + value.start, end: start + value.end } }))

/** A removed member takes the comma before it; removed members at the front take the comma behind them. */
function removals(text: ByteString, start: number, members: readonly Member[], isDropped: (member: Member) => boolean): readonly Edit[] {
  if (!members.some(isDropped)) return []
  const first = members.findIndex((member) => !isDropped(member))
  const front = first === -1 ? members.at(-1) : members[first - 1]
  const edits: Edit[] = []
  if (front !== undefined) {
    const end = first === -1 ? front.value.end : text.indexOf(',', front.value.end) + 1
    edits.push({ start: start + 1, end, text: EMPTY })
  }
  members.forEach((member, index) => {
    const before = members[index - 1]
    if (first !== -1 && index > first && before !== undefined && isDropped(member))
      edits.push({ start: before.value.end, end: member.value.end, text: EMPTY })
  })
  return edits
}
