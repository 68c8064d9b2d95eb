/** Numbered server-sent events of the responses format, collected until they are taken. Rules: responses.md "Events". */

import { ascii, type ByteString, concat, digits, EMPTY, encode, toBytes } from '../../bytes/byte-string.ts'

/** An event that comes again and again: everything but its number and its literal, made once. */
export type DeltaTemplate = Readonly<{ head: ByteString; place: ByteString; tail: ByteString }>

/** `fields`: JSON members with their leading comma; the literal stands between `place` and `tail`. */
export const deltaTemplate = (type: string, fields: ByteString, tail: ByteString): DeltaTemplate => ({
  head: headOf(type),
  place: ascii`${fields},"delta":`,
  tail: ascii`${tail}}\n\n`,
})

function headOf(name: string): ByteString {
  const type = encode(name)
  return ascii`event: ${type}\ndata: {"type":"${type}","sequence_number":`
}

export class EventWriter {
  #next = 0
  #out = EMPTY

  /** `fields`: JSON members with their leading comma. */
  event(type: string, fields: ByteString): void {
    this.#out = concat(this.#out, ascii`${headOf(type)}${this.#next++}${fields}}\n\n`)
  }

  delta({ head, place, tail }: DeltaTemplate, literal: ByteString): void {
    this.#out = concat(this.#out, concat(head, digits(this.#next++), place), concat(literal, tail))
  }

  /** What was written since the last take; undefined when that is nothing. */
  take(): Uint8Array | undefined {
    if (this.#out === EMPTY) return undefined
    const bytes = toBytes(this.#out)
    this.#out = EMPTY
    return bytes
  }
}
