/**
 * Counts of the last sixty seconds, and the spread of times within them: fixed arrays, and one addition an event. A reader adds the arrays up.
 * Rules: pages.md "Now".
 */

import { binOf, TIME_BINS, timeOfRank } from './times.ts'

const SECONDS = 60
const SECOND_MS = 1_000

/** `width` counters, each kept second by second. */
export class LastMinute {
  readonly #width: number
  readonly #counts: Float64Array
  /** The second that each row counts. */
  readonly #seconds = new Float64Array(SECONDS).fill(-1)

  constructor(width: number) {
    this.#width = width
    this.#counts = new Float64Array(SECONDS * width)
  }

  /** `nowMs`: by a clock that never jumps. */
  add(column: number, nowMs: number, amount = 1): void {
    const second = Math.floor(nowMs / SECOND_MS)
    const row = second % SECONDS
    const start = row * this.#width
    if (this.#seconds[row] !== second) {
      this.#counts.fill(0, start, start + this.#width)
      this.#seconds[row] = second
    }
    this.#counts[start + column] = (this.#counts[start + column] ?? 0) + amount
  }

  /** The sum of each counter over the running second and the 59 before it. */
  sums(nowMs: number): readonly number[] {
    const first = Math.floor(nowMs / SECOND_MS) - SECONDS + 1
    const sums = new Array<number>(this.#width).fill(0)
    for (const [row, second] of this.#seconds.entries()) {
      if (second < first) continue
      for (let column = 0; column < this.#width; column++)
        sums[column] = (sums[column] ?? 0) + (this.#counts[row * this.#width + column] ?? 0)
    }
    return sums
  }

  /** One counter in the last whole second, the one before the running second. */
  ofSecondBefore(column: number, nowMs: number): number {
    const second = Math.floor(nowMs / SECOND_MS) - 1
    const row = second % SECONDS
    return this.#seconds[row] === second ? (this.#counts[row * this.#width + column] ?? 0) : 0
  }
}

/** Times of the last minute, from a sixteenth of a millisecond to seventeen minutes; a time outside this range counts as the nearest in it. */
export class RecentTimes {
  readonly #minute = new LastMinute(TIME_BINS)

  add(ms: number, nowMs: number): void {
    this.#minute.add(binOf(ms), nowMs)
  }

  /** The times of the last minute, as counts of bins, which can be added to those of other processes. */
  bins(nowMs: number): readonly number[] {
    return this.#minute.sums(nowMs)
  }
}

/** `p50Ms`, `p99Ms`: within 5 %; null where there are no times. */
export function spreadOf(bins: readonly number[]): Readonly<{ count: number; p50Ms: number | null; p99Ms: number | null }> {
  const count = bins.reduce((sum, more) => sum + more, 0)
  return { count, p50Ms: timeOfRank(bins, count * 0.5), p99Ms: timeOfRank(bins, count * 0.99) }
}
