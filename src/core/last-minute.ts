/**
 * Counts of the last sixty seconds, and how times of them are spread: fixed arrays, and one addition an event. A reader adds them up.
 * Rules: pages.md "Now".
 */

const SECONDS = 60
const SECOND_MS = 1_000

/** So many counters, each told apart by the second in which it grew. */
export class LastMinute {
  readonly #width: number
  readonly #counts: Float64Array
  /** Which second each row is of. */
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

  /** Of the second that runs and the 59 before it. */
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

  /** Of one counter, in the whole second before the one that runs. */
  ofSecondBefore(column: number, nowMs: number): number {
    const second = Math.floor(nowMs / SECOND_MS) - 1
    const row = second % SECONDS
    return this.#seconds[row] === second ? (this.#counts[row * this.#width + column] ?? 0) : 0
  }
}

/** A bin is 9 % wide, so its middle is at most 4.5 % from what fell into it. */
const BINS_AN_OCTAVE = 8
const SMALLEST_MS = 1 / 16
const OCTAVES = 24
const BINS = OCTAVES * BINS_AN_OCTAVE

/** Times of the last minute, from a sixteenth of a millisecond to seventeen minutes; what is outside counts as the nearest. */
export class RecentTimes {
  readonly #minute = new LastMinute(BINS)

  add(ms: number, nowMs: number): void {
    const bin = Math.floor(Math.log2(ms / SMALLEST_MS) * BINS_AN_OCTAVE)
    this.#minute.add(Math.min(BINS - 1, Math.max(0, bin)), nowMs)
  }

  /** `p50Ms`, `p99Ms`: within 5 %; null where nothing fell into the last minute. */
  read(nowMs: number): Readonly<{ count: number; p50Ms: number | null; p99Ms: number | null }> {
    const counts = this.#minute.sums(nowMs)
    const count = counts.reduce((sum, more) => sum + more, 0)
    return { count, p50Ms: quantile(counts, count * 0.5), p99Ms: quantile(counts, count * 0.99) }
  }
}

/** The middle of the bin in which the one of that rank is. */
function quantile(counts: readonly number[], rank: number): number | null {
  let seen = 0
  for (const [bin, count] of counts.entries()) {
    seen += count
    if (count > 0 && seen >= rank) return SMALLEST_MS * 2 ** ((bin + 0.5) / BINS_AN_OCTAVE)
  }
  return null
}
