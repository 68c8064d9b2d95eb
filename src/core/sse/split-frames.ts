/**
 * Bytes to whole server-sent events, wherever the network cut them. A frame runs to the end of the blank line that closes it. Lines end with LF, CRLF
 * or CR, also mixed. Rules: native.md "Frames". Linear: every byte is searched once, or twice in a frame that was cut; an open frame is joined once.
 */

import { type ByteString, EMPTY, fromBytes, join } from '../bytes/byte-string.ts'
import { EVENT_BYTES_MAX } from '../limits.ts'

/** Called with the text that holds the frame and where in it the frame starts and ends (past its blank line). */
export type OnFrame = (text: ByteString, start: number, end: number) => void

/**
 * May take the frame that starts at `start` before the splitter looks for its end: most frames of a stream look alike, and a reader that recognises one also knows where
 * it ends. Returns the end of the whole frame that it took, else -1; then `OnFrame` gets the frame.
 */
export type TakeKnown = (text: ByteString, start: number) => number

const NONE_IS_KNOWN: TakeKnown = () => -1

export class FrameSplitter {
  #open: ByteString[] = []
  #openBytes = 0
  /** The last characters of the open frame: a blank line may straddle two chunks. */
  #tail = ''
  #atStart = true

  /** False when a frame, whole or open, is longer than `EVENT_BYTES_MAX`: the upstream is broken and the splitter must not be fed again. */
  push(chunk: Uint8Array, onFrame: OnFrame, takeKnown: TakeKnown = NONE_IS_KNOWN): boolean {
    if (chunk.length === 0) return true
    let text = fromBytes(chunk)
    if (this.#atStart) {
      text = this.#withoutBom(text)
      if (text === EMPTY) return true
    }
    let start = 0
    if (this.#open.length > 0) {
      const seam = this.#tail + text
      const end = frameEnd(seam, 0, seam.includes('\r'))
      if (end === -1) return this.#keep(text)
      start = this.#openBytes - this.#tail.length + end
      if (start > FRAME_BYTES_MAX) return false
      text = this.#take(text)
      if (isTooLong(text, 0, start)) return false
      if (takeKnown(text, 0) === -1) onFrame(text, 0, start)
    }
    let hasCr: boolean | undefined
    while (start < text.length) {
      let end = takeKnown(text, start)
      if (end === -1) {
        hasCr ??= text.includes('\r')
        end = frameEnd(text, start, hasCr)
        if (end === -1) return this.#keep(start === 0 ? text : text.slice(start))
        if (isTooLong(text, start, end)) return false
        onFrame(text, start, end)
      } else if (isTooLong(text, start, end)) return false
      start = end
    }
    return true
  }

  /** True where no frame is open: all bytes so far belong to whole frames. False before the first byte. */
  get isBetweenFrames(): boolean {
    return this.#open.length === 0 && !this.#atStart
  }

  /** The open frame when the upstream has ended; empty when there is none. */
  rest(): ByteString {
    return this.#take(EMPTY)
  }

  #keep(text: ByteString): boolean {
    this.#open.push(text)
    this.#openBytes += text.length
    this.#tail = (this.#tail + text).slice(-3)
    return this.#openBytes <= EVENT_BYTES_MAX + UNFINISHED_BLANK_BYTES_MAX
  }

  #take(next: ByteString): ByteString {
    this.#open.push(next)
    const text = join(this.#open)
    this.#open = []
    this.#openBytes = 0
    this.#tail = ''
    return text
  }

  /** Drops a byte order mark, also one that arrives a byte at a time. */
  #withoutBom(text: ByteString): ByteString {
    const known = this.#take(text)
    if (known.length < BOM.length && BOM.startsWith(known)) {
      this.#keep(known)
      return EMPTY
    }
    this.#atStart = false
    return known.startsWith(BOM) ? known.slice(BOM.length) : known
  }
}

const BOM = '\xef\xbb\xbf'
/** The bytes of `\r\n\r`: only the next byte tells whether this ends as a blank line. */
const UNFINISHED_BLANK_BYTES_MAX = 3
const BLANK_BYTES_MAX = 4
const FRAME_BYTES_MAX = EVENT_BYTES_MAX + BLANK_BYTES_MAX

/** The length counts without the blank line, whose length may depend on where the network cut; the verdict must not. */
function isTooLong(text: string, start: number, end: number): boolean {
  if (end - start <= EVENT_BYTES_MAX) return false
  const blank = CLOSING.exec(text.slice(end - BLANK_BYTES_MAX, end))?.[0] ?? ''
  return end - start - blank.length > EVENT_BYTES_MAX
}

const CLOSING = /(?:\r\n|\n|\r){2}$/

/** Where the frame that starts at `from` ends, past its blank line; -1 while it is open. Upstreams that never send CR take the plain search. */
function frameEnd(text: string, from: number, hasCr: boolean): number {
  if (!hasCr) {
    const end = text.indexOf('\n\n', from)
    return end === -1 ? -1 : end + 2
  }
  BLANK_LINE.lastIndex = from
  return BLANK_LINE.test(text) ? BLANK_LINE.lastIndex : -1
}

/**
 * Two line ends in a row. CRLF is one line end, so the second may not be the LF of the first; and where lines ended with LF, a CR that is the last thing to
 * have arrived is taken for the first half of a CRLF.
 */
const BLANK_LINE = /(?:\r\n|\n)(?:\r\n|\n|\r(?=[\s\S]))|\r(?!\n)(?:\r\n|\n|\r)/g
