/**
 * The hot path of a chat stream: finds a piece's frame and the JSON string literal in it without parsing or decoding. Every server writes its chunks in its
 * own way, but those that only add a piece are alike: the finder learns one that was parsed, and then finds those that differ from it only in the literal.
 * Rules: openai.md "Chunks"; house.md "One stage".
 */

import { type ByteString, decode, EMPTY } from '../../../bytes/byte-string.ts'
import { stringEnd } from '../../../native/delta.ts'
import type { ReasoningField } from '../../../native/own-signature.ts'

export type PieceField = 'content' | ReasoningField | 'arguments'

/** A piece of the text in `field`; its JSON string literal is `literal[from, to)`, quotes included. `call`: the index of the call, where the piece is of arguments. */
export interface Piece {
  readonly field: PieceField
  readonly call: number
  readonly literal: ByteString
  readonly from: number
  readonly to: number
}

/** The text of a frame before its literal (`before`) and behind it (`after`). `tail`: the text behind a second literal, a padding of random length. */
type Shape = Readonly<{ field: PieceField; call: number; before: string; after: string; tail: string | undefined }>

/** Room for text, reasoning and arguments, and for one of them in a second form. */
const SHAPES_MAX = 4
/** A chunk with more than this beside its piece is not worth remembering. */
const SHAPE_LENGTH_MAX = 4_096
/** The field by which some servers make all chunks equally long: https://platform.openai.com/docs/api-reference/chat-streaming */
const PADDING = '"obfuscation":"'

export class ChunkFinder implements Piece {
  field: PieceField = 'content'
  call = 0
  literal: ByteString = EMPTY
  from = 0
  to = 0
  end = 0
  #shapes: readonly Shape[] = []

  /** Drops the text: a stream that waits for its next chunk must not keep the last one alive. */
  forget(): void {
    this.literal = EMPTY
  }

  /** True when a frame of a known shape starts at `start`; the fields then say where it ends and where its literal is. */
  find(text: ByteString, start: number): boolean {
    for (const shape of this.#shapes) {
      if (!text.startsWith(shape.before, start)) continue
      const from = start + shape.before.length
      const to = stringEnd(text, from)
      const end = to === -1 ? -1 : endOf(shape, text, to)
      if (end === -1) continue
      this.field = shape.field
      this.call = shape.call
      this.literal = text
      this.from = from
      this.to = to
      this.end = end
      return true
    }
    return false
  }

  /** Remembers a frame whose chunk only adds a piece, `said`. A frame in which the place of the literal is not certain is not remembered. */
  learn(
    text: ByteString,
    start: number,
    end: number,
    { field, call, said }: Readonly<{ field: PieceField; call: number; said: string }>,
  ): void {
    if (text.charCodeAt(end - 1) !== LF) return
    const frame = text.slice(start, end)
    const name = new RegExp(String.raw`"${field}"\s*:\s*(?=")`, 'g')
    const found = name.exec(frame)
    if (found === null) return
    const from = found.index + found[0].length
    if (name.test(frame)) return
    const to = stringEnd(frame, from)
    if (to === -1 || JSON.parse(decode(frame.slice(from, to))) !== said) return
    const shape = shapeOf(frame, { from, to }, { field, call })
    if (shape.before.length + shape.after.length > SHAPE_LENGTH_MAX) return
    const others = this.#shapes.filter((other) => other.field !== field)
    this.#shapes = [shape, ...others].slice(0, SHAPES_MAX)
  }
}

const LF = 10

function shapeOf(
  frame: ByteString,
  { from, to }: Readonly<{ from: number; to: number }>,
  piece: Readonly<{ field: PieceField; call: number }>,
): Shape {
  const rest = frame.slice(to)
  const padding = rest.indexOf(PADDING)
  // Copies, since a slice would keep the whole chunk of the network alive.
  const before = own(frame.slice(0, from))
  if (padding === -1) return { ...piece, before, after: own(rest), tail: undefined }
  const opening = padding + PADDING.length - 1
  const closing = stringEnd(rest, opening)
  return { ...piece, before, after: own(rest.slice(0, opening)), tail: own(rest.slice(closing === -1 ? opening : closing)) }
}

const own = (text: string): string => Buffer.from(text, 'latin1').toString('latin1')

function endOf({ after, tail }: Shape, text: ByteString, at: number): number {
  if (!text.startsWith(after, at)) return -1
  const end = at + after.length
  if (tail === undefined) return end
  const padded = stringEnd(text, end)
  return padded !== -1 && text.startsWith(tail, padded) ? padded + tail.length : -1
}
