/**
 * The end of a stream whose client asked to see its cost: the last `message_delta`, and what follows it, waits for the settle. A `message_delta` that content follows
 * was not the last one, so which is the last is known only at the end. Rules: requests.md "Cost of an answer".
 */

import { type ByteString, concat, EMPTY } from '../../bytes/byte-string.ts'
import { applyEdits } from '../../bytes/splice.ts'
import type { CostFields } from '../../native/shown-cost.ts'
import { frameLines } from '../../sse/read-event.ts'
import { costEdits, jsonSpan, objectAt } from './usage.ts'

/** Usually a `message_stop` follows the last figures. An upstream that sends pings instead would fill memory: beyond this size they are sent, and the cost stands in a `message_delta` of ours. */
const LENGTH_MAX = 64 * 1024

export class HeldEnd {
  #held = EMPTY
  /** Where the last `message_delta` starts in the text of this push, if there is one. */
  #from: number | undefined
  /** The text that earlier pushes held is not the end, and leaves. */
  #isReleased = false

  get isEmpty(): boolean {
    return this.#held === EMPTY
  }

  /** A `message_delta` starts here. */
  delta(start: number): void {
    this.#from = start
    this.#isReleased = true
  }

  /** More of the answer has come. */
  content(): void {
    this.#from = undefined
    this.#isReleased = true
  }

  /** Takes the text of a push up to `to`, and gives what may leave. */
  take(piece: (from: number, to: number) => ByteString, to: number): ByteString {
    const isHolding = !this.isEmpty && !this.#isReleased
    const from = this.#from ?? (isHolding ? 0 : to)
    const now = isHolding ? EMPTY : concat(this.#held, piece(0, from))
    this.#held = concat(isHolding ? this.#held : EMPTY, piece(from, to))
    this.#from = undefined
    this.#isReleased = false
    return this.#held.length > LENGTH_MAX ? concat(now, this.release()) : now
  }

  /** Gives the held text as it is, without a cost. */
  release(): ByteString {
    const held = this.#held
    this.#held = EMPTY
    return held
  }

  /** Gives the held text with the cost in its last `message_delta`; with `late`, our own `message_delta` behind it, the cost stands there. */
  end(late: ByteString | undefined, cost: CostFields): ByteString {
    const held = this.release()
    return late === undefined ? withCost(held, cost) : concat(held, withCost(late, cost))
  }
}

/** Puts the cost in the first frame of the text, whose data is in one line. */
function withCost(text: ByteString, cost: CostFields): ByteString {
  const data = frameLines(text, 0, text.length).find(({ field }) => field === 'data')
  return data === undefined ? text : applyEdits(text, costEdits(text, objectAt(text, jsonSpan(text, data.value)), cost))
}
