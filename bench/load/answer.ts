/**
 * One answer as a client reads it off a socket, cheaply enough for a load: its status, its end, and its events by their marks. The reader relies on one answer at
 * a time on a connection, and parses no frames.
 */

import { nowUs, STAMP_DIGITS } from '../clock.ts'
import { MARK } from './wire.ts'

const MARK_BYTE = MARK.charCodeAt(0)
const ZERO = 0x30
const LAST_CHUNK = '\n0\r\n\r\n'
/** The terminal events of the formats; no error follows one. */
const LAST_EVENTS = ['data: [DONE]', '"type":"message_stop"']
/** The terminal event is looked for in this many last bytes, which also have room for the padding of a vendor's frame and the last chunk's frame. */
const TAIL_BYTES = 64
const HEAD_END = '\r\n\r\n'

export type Read = 'more' | 'end'

export class Answer {
  /** Empty until the head is complete. */
  status = ''
  events = 0
  /** The time of the first event; 0 before it. */
  firstEventUs = 0
  #head = ''
  /** Whether the body comes in chunks; a proxy that has a whole stream at once may send its length instead. */
  #chunked = false
  #bytesLeft = 0
  /** The distance of the last two marks. Frames of one answer have one length, so the next mark is looked at before it is searched: the search takes longer. */
  #stride = 0
  /** The last bytes of the body so far, so that an end which arrives in two pieces is found. */
  #tail = ''

  begin(): void {
    this.status = ''
    this.events = 0
    this.firstEventUs = 0
    this.#head = ''
    this.#tail = ''
  }

  /** Whether a stream that is over has ended with a terminal event of its format, and not with an error after its events. */
  get isComplete(): boolean {
    return LAST_EVENTS.some((event) => this.#tail.includes(event))
  }

  /** `onLag`, where it is given, gets the microseconds from the writing of each event to this moment. */
  read(bytes: Buffer, onLag: ((us: number) => void) | undefined): Read {
    let from = 0
    if (this.status === '') {
      from = this.#readHead(bytes)
      if (this.status === '') return 'more'
    }
    this.#readEvents(bytes, from, onLag)
    this.#tail = (this.#tail + bytes.toString('latin1', Math.max(from, bytes.length - TAIL_BYTES))).slice(-TAIL_BYTES)
    this.#bytesLeft -= bytes.length - from
    return this.#isOver() ? 'end' : 'more'
  }

  /** Where the body begins in `bytes`. */
  #readHead(bytes: Buffer): number {
    const before = this.#head.length
    this.#head += bytes.toString('latin1')
    const end = this.#head.indexOf(HEAD_END)
    if (end === -1) return bytes.length
    this.status = this.#head.slice(9, 12)
    const length = /\r\ncontent-length: *(\d+)/i.exec(this.#head.slice(0, end + 2))?.[1]
    this.#chunked = length === undefined
    this.#bytesLeft = Number(length ?? 0)
    this.#head = ''
    return end + HEAD_END.length - before
  }

  #readEvents(bytes: Buffer, from: number, onLag: ((us: number) => void) | undefined): void {
    let at = bytes.indexOf(MARK_BYTE, from)
    if (at === -1) return
    const now = nowUs()
    if (this.firstEventUs === 0) this.firstEventUs = now
    for (; at !== -1; at = this.#nextMark(bytes, at)) {
      this.events++
      if (onLag === undefined || at + STAMP_DIGITS >= bytes.length) continue
      let written = 0
      for (let digit = at + 1; digit <= at + STAMP_DIGITS; digit++) written = written * 10 + (bytes[digit] ?? 0) - ZERO
      onLag(now - written)
    }
  }

  #nextMark(bytes: Buffer, at: number): number {
    if (this.#stride > 0 && bytes[at + this.#stride] === MARK_BYTE) return at + this.#stride
    const next = bytes.indexOf(MARK_BYTE, at + STAMP_DIGITS)
    this.#stride = next === -1 ? this.#stride : next - at
    return next
  }

  #isOver(): boolean {
    return this.#chunked ? this.#tail.endsWith(LAST_CHUNK) : this.#bytesLeft <= 0
  }
}
