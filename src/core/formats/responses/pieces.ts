/**
 * JSON in pieces: short text as byte strings, long text as the bytes that are already held. The format repeats the whole text in four events, so an answer of
 * 8 MB would be held five times over if writing it meant copying it. Rules: responses.md "Events".
 */

import { type ByteString, EMPTY, fromBytes, toBytes } from '../../bytes/byte-string.ts'

export type Pieces = readonly (ByteString | Uint8Array)[]

/** Text of this length or more is kept as bytes and shared; copying a shorter one costs less than another piece. */
export const SHARED_BYTES_MIN = 65_536

/** A template of pieces; text between them is joined. */
export function pieces(texts: TemplateStringsArray, ...values: readonly (string | number | Pieces)[]): Pieces {
  const joined: (ByteString | Uint8Array)[] = []
  let text = texts[0] ?? ''
  for (let index = 0; index < values.length; index++) {
    const value = values[index] ?? ''
    if (typeof value !== 'object') text += value
    else
      for (const piece of value) {
        if (typeof piece === 'string') text += piece
        else {
          joined.push(text as ByteString, piece)
          text = ''
        }
      }
    text += texts[index + 1] ?? ''
  }
  if (text !== '') joined.push(text as ByteString)
  return joined
}

/** Text that is written more than once. */
export const shared = (text: ByteString): Pieces => [text.length < SHARED_BYTES_MIN ? text : toBytes(text)]

export const textOf = (written: Pieces): ByteString =>
  written.map((piece) => (typeof piece === 'string' ? piece : fromBytes(piece))).join('') as ByteString

/** All pieces as one array of bytes with a buffer of its own. */
export function bytesOf(written: Pieces): Uint8Array {
  const [only = EMPTY] = written
  if (written.length < 2 && typeof only === 'string') return toBytes(only)
  return Buffer.concat(written.map((piece) => (typeof piece === 'string' ? toBytes(piece) : piece)))
}

/** The pieces in a form that can be kept long without keeping other bytes alive: long text stays as it is, since its buffer is its own; the text between is copied together. */
export function keptBytesOf(written: Pieces): readonly Uint8Array[] {
  const kept: Uint8Array[] = []
  let run: (ByteString | Uint8Array)[] = []
  const close = (): void => {
    if (run.length > 0) kept.push(bytesOf(run))
    run = []
  }
  for (const piece of written) {
    if (typeof piece === 'string' || piece.byteLength < SHARED_BYTES_MIN) run.push(piece)
    else {
      close()
      kept.push(piece)
    }
  }
  close()
  return kept
}

/** The items with commas between them. */
export const listed = (items: readonly Pieces[]): Pieces => items.flatMap((item, index) => (index === 0 ? item : [COMMA, ...item]))

const COMMA = ',' as ByteString
