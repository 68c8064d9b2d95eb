/** Numbered server-sent events of the responses format, collected until they are taken. Rules: responses.md "Events". */

import { type ByteString, EMPTY, toBytes } from '../../bytes/byte-string.ts'

/** An event that comes again and again: everything but its number and its literal, made once. */
export type DeltaTemplate = Readonly<{ head: string; place: string; tail: string }>

/** `fields`: JSON members with their leading comma, as bytes; the literal stands between `place` and `tail`. */
export const deltaTemplate = (type: string, fields: string, tail: string): DeltaTemplate => ({
  head: headOf(type),
  place: `${fields},"delta":`,
  tail: `${tail}}\n\n`,
})

const headOf = (type: string): string => `event: ${type}\ndata: {"type":"${type}","sequence_number":`

export class EventWriter {
  #next = 0
  #out = ''

  /** `fields`: JSON members with their leading comma, as bytes. */
  event(type: string, fields: string): void {
    this.#out += `${headOf(type)}${this.#next++}${fields}}\n\n`
  }

  delta({ head, place, tail }: DeltaTemplate, literal: string): void {
    this.#out += head + this.#next++ + place + literal + tail
  }

  /** What was written since the last take; undefined when that is nothing. */
  take(): Uint8Array | undefined {
    if (this.#out === '') return undefined
    const bytes = toBytes(this.#out as ByteString)
    this.#out = EMPTY
    return bytes
  }
}
