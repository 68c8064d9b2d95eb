/**
 * The end of a stream whose client asked to see its cost: the last `message_delta`, and what follows it, waits for the settle. Which one is the last is known only at
 * the end: one that content follows was not. Rules: requests.md "Cost of an answer".
 */

import { type ByteString, concat, EMPTY } from '../../bytes/byte-string.ts'
import { applyEdits } from '../../bytes/splice.ts'
import type { CostFields } from '../../native/shown-cost.ts'
import { frameLines } from '../../sse/read-event.ts'
import { costEdits, jsonSpan, objectAt } from './usage.ts'

/** Behind the figures comes a `message_stop`. The pings of an upstream that goes on instead would fill memory: beyond this they are sent, and the cost stands in a `message_delta` of ours. */
const LENGTH_MAX = 64 * 1024

export class HeldEnd {
  #held = EMPTY
  /** Where the last `message_delta` starts in the text of this push, if there is one. */
  #from: number | undefined
  /** What was held before is not the end. */
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

  /** Nothing more comes, and no cost: it leaves as it is. */
  release(): ByteString {
    const held = this.#held
    this.#held = EMPTY
    return held
  }

  /** With the cost in the last `message_delta`: `late`, where there is one of ours behind it. */
  end(late: ByteString | undefined, cost: CostFields): ByteString {
    const held = this.release()
    return late === undefined ? withCost(held, cost) : concat(held, withCost(late, cost))
  }
}

/** In the first frame of the text, whose data is in one line. */
function withCost(text: ByteString, cost: CostFields): ByteString {
  const data = frameLines(text, 0, text.length).find(({ field }) => field === 'data')
  return data === undefined ? text : applyEdits(text, costEdits(text, objectAt(text, jsonSpan(text, data.value)), cost))
}
