/**
 * The end of a stream whose client asked to see its cost: the last `message_delta`, and what follows it, waits for the settle. A `message_delta` with content behind it
 * was not the last one, so only the end shows which one was. Rules: requests.md "Cost of an answer".
 */

import { type ByteString, concat, EMPTY } from '../../bytes/byte-string.ts'
import { applyEdits } from '../../bytes/splice.ts'
import type { CostFields } from '../../native/shown-cost.ts'
import { frameLines } from '../../sse/read-event.ts'
import { costEdits, jsonSpan, objectAt } from './usage.ts'

/** The most text that is held. An upstream that sends pings instead of `message_stop` would fill memory: more text is sent at once, and a `message_delta` of ours has the cost. */
const LENGTH_MAX = 64 * 1024

export class HeldEnd {
  #held = EMPTY
  /** Where the last `message_delta` starts in the text of this push, if there is one. */
  #from: number | undefined
  /** The text held from earlier pushes is not the end, so it leaves with this push. */
  #isReleased = false

  get isEmpty(): boolean {
    return this.#held === EMPTY
  }

  /** Notes a `message_delta` that starts at `start`. */
  delta(start: number): void {
    this.#from = start
    this.#isReleased = true
  }

  /** Notes that more of the answer has come. */
  content(): void {
    this.#from = undefined
    this.#isReleased = true
  }

  /** Takes the text of a push up to `to`, and returns the text that may leave now. */
  take(piece: (from: number, to: number) => ByteString, to: number): ByteString {
    const isHolding = !this.isEmpty && !this.#isReleased
    const from = this.#from ?? (isHolding ? 0 : to)
    const now = isHolding ? EMPTY : concat(this.#held, piece(0, from))
    this.#held = concat(isHolding ? this.#held : EMPTY, piece(from, to))
    this.#from = undefined
    this.#isReleased = false
    return this.#held.length > LENGTH_MAX ? concat(now, this.release()) : now
  }

  /** Returns the held text as it is, without a cost. */
  release(): ByteString {
    const held = this.#held
    this.#held = EMPTY
    return held
  }

  /** Returns the held text with the cost in its last `message_delta`. Where `late`, a `message_delta` of ours, follows it, that one has the cost. */
  end(late: ByteString | undefined, cost: CostFields): ByteString {
    const held = this.release()
    return late === undefined ? withCost(held, cost) : concat(held, withCost(late, cost))
  }
}

/** Puts the cost into the first frame of the text; the frame's data is on one line. */
function withCost(text: ByteString, cost: CostFields): ByteString {
  const data = frameLines(text, 0, text.length).find(({ field }) => field === 'data')
  return data === undefined ? text : applyEdits(text, costEdits(text, objectAt(text, jsonSpan(text, data.value)), cost))
}
