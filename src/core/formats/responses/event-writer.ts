/** Numbered server-sent events of the responses format, collected until they are taken. Rules: responses.md "Events". */

import { ascii, type ByteString, EMPTY, encode, solid, toBytes } from '../../bytes/byte-string.ts'
import type { Written } from '../../transcoder.ts'
import type { Pieces } from './pieces.ts'

/** An event that is repeated: all of it except its number and its literal, made once. */
export type DeltaTemplate = Readonly<{ head: ByteString; place: ByteString; tail: ByteString }>

/** `fields`: JSON members with their leading comma; the literal stands between `place` and `tail`. */
export const deltaTemplate = (type: string, fields: ByteString, tail: ByteString): DeltaTemplate => ({
  head: solid(headOf(type)),
  place: solid(ascii`${fields},"delta":`),
  tail: solid(ascii`${tail}}\n\n`),
})

function headOf(name: string): ByteString {
  const type = encode(name)
  return ascii`event: ${type}\ndata: {"type":"${type}","sequence_number":`
}

export class EventWriter {
  #next = 0
  /** Text that follows the pieces. */
  #out = ''
  #pieces: Uint8Array[] = []

  /** `fields`: JSON members with their leading comma. */
  event(type: string, fields: string | Pieces): void {
    this.#out += `${headOf(type)}${this.#next++}`
    this.#write(fields)
    this.#out += '}\n\n'
  }

  delta({ head, place, tail }: DeltaTemplate, literal: ByteString | Pieces): void {
    if (typeof literal === 'string') {
      this.#out += head + this.#next++ + place + literal + tail
      return
    }
    this.#out += head + this.#next++ + place
    this.#write(literal)
    this.#out += tail
  }

  /** What was written since the last take; undefined when that is nothing. */
  take(): Written | undefined {
    const bytes = this.#out === '' ? undefined : toBytes(this.#out as ByteString)
    this.#out = EMPTY
    if (this.#pieces.length === 0) return bytes
    const taken = bytes === undefined ? this.#pieces : [...this.#pieces, bytes]
    this.#pieces = []
    return taken
  }

  #write(written: string | Pieces): void {
    if (typeof written === 'string') {
      this.#out += written
      return
    }
    for (const piece of written) {
      if (typeof piece === 'string') this.#out += piece
      else {
        this.#pieces.push(toBytes(this.#out as ByteString), piece)
        this.#out = EMPTY
      }
    }
  }
}
