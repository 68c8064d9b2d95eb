/**
 * Removes members from a native body, puts others at its front, and leaves every other byte as the client sent it: a thinking block's signature depends on what stands
 * before it. Rules: doors.md "Edits"; requests.md "Exact bytes".
 */

import { ascii, type ByteString, EMPTY, fromBytes, join } from '../bytes/byte-string.ts'
import { type Edit, edited } from '../bytes/splice.ts'
import { type BodyCuts, type DroppedFields, findCuts } from './body-cuts.ts'

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

/** Reads the body once. `bytes`: a JSON object that parsed before. */
export const cutsOf = (bytes: Uint8Array, dropped: DroppedFields): BodyCuts => findCuts(fromBytes(bytes), dropped)

/** `added`: members as JSON, such as `"a":1`, whose names the object does not have. */
export function editsOf({ openAt, isEmptied, spans }: BodyCuts, added: readonly ByteString[]): readonly Edit[] {
  const cuts = spans.map((span) => ({ ...span, text: EMPTY }))
  if (added.length === 0) return cuts
  const list = join(added, ascii`,`)
  return [{ start: openAt, end: openAt, text: isEmptied ? list : ascii`${list},` }, ...cuts]
}

/** The object without what is dropped. */
export const editBody = (bytes: Uint8Array, dropped: DroppedFields, added: readonly ByteString[]): Uint8Array =>
  edited(bytes, editsOf(cutsOf(bytes, dropped), added))
