/** The lines of a frame: what its event says, and where each line stands, so that one can be replaced without touching the others. Rules: native.md "Frames". */

import { ascii, type ByteString, concat, EMPTY } from '../bytes/byte-string.ts'
import type { Span } from '../bytes/json-scan.ts'

export type RawEvent = Readonly<{ event: ByteString; data: ByteString }>

/** Comments, `id`, `retry` and unknown fields are ignored; several data lines join with LF. A frame without data has `data` ''. */
export function readFrame(text: ByteString, start: number, end: number): RawEvent {
  let event = EMPTY
  let data: ByteString | undefined
  for (const { field, value } of frameLines(text, start, end)) {
    const said = text.slice(value.start, value.end)
    if (field === 'data') data = data === undefined ? said : concat(data, LF, said)
    else if (field === 'event') event = said
  }
  return { event, data: data ?? EMPTY }
}

const LF = ascii`\n`

/** A line of a frame without its line end: its field, and where line and value stand in the text. A comment's field is ''. */
export type FrameLine = Readonly<{ field: string; line: Span; value: Span }>

export function frameLines(text: ByteString, start: number, end: number): readonly FrameLine[] {
  const lines: FrameLine[] = []
  for (let at = start; at < end; ) {
    LINE_END.lastIndex = at
    const stop = LINE_END.exec(text)
    const lineEnd = stop === null ? end : Math.min(end, stop.index)
    if (lineEnd > at) lines.push(lineAt(text, at, lineEnd))
    at = stop === null ? end : LINE_END.lastIndex
  }
  return lines
}

const LINE_END = /\r\n|\n|\r/g

function lineAt(text: ByteString, start: number, end: number): FrameLine {
  const colon = text.indexOf(':', start)
  if (colon === -1 || colon >= end) return { field: text.slice(start, end), line: { start, end }, value: { start: end, end } }
  const valueStart = text.charCodeAt(colon + 1) === 32 && colon + 1 < end ? colon + 2 : colon + 1
  return { field: text.slice(start, colon), line: { start, end }, value: { start: valueStart, end } }
}
