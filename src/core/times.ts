/**
 * The spread of times as counts of bins: any two can be added, so percentiles of an hour over all processes come from the minutes of each. Rules: pages.md "History", "Now".
 */

/** A bin is 9 % wide, so its middle is at most 4.5 % away from any time in it. */
const BINS_AN_OCTAVE = 8
const SMALLEST_MS = 1 / 16
const OCTAVES = 24
export const TIME_BINS = OCTAVES * BINS_AN_OCTAVE

/** The bin of a time, from a sixteenth of a millisecond to seventeen minutes; a time outside this range is in the nearest bin. */
export function binOf(ms: number): number {
  const bin = Math.floor(Math.log2(ms / SMALLEST_MS) * BINS_AN_OCTAVE)
  return Math.min(TIME_BINS - 1, Math.max(0, bin))
}

/** The middle of the bin that holds the time of this rank, in milliseconds, within 5 % of it; null where there are no times. */
export function timeOfRank(counts: ArrayLike<number>, rank: number): number | null {
  let seen = 0
  for (let bin = 0; bin < counts.length; bin++) {
    const count = counts[bin] ?? 0
    seen += count
    if (count > 0 && seen >= rank) return SMALLEST_MS * 2 ** ((bin + 0.5) / BINS_AN_OCTAVE)
  }
  return null
}

const MORE = 0x80
const LOW_BITS = 0x7f

export class Times {
  readonly #counts = new Float64Array(TIME_BINS)
  #count = 0

  get count(): number {
    return this.#count
  }

  add(ms: number, count = 1): void {
    this.#put(binOf(ms), count)
  }

  addAll(other: Times): void {
    for (const [bin, count] of other.#counts.entries()) if (count > 0) this.#put(bin, count)
  }

  /** Adds times that were written by `bytes`. What is no such text of bytes adds nothing from its first wrong bin on. */
  merge(bytes: Uint8Array): void {
    let [at, bin] = [0, -1]
    const next = (): number => {
      let [value, scale] = [0, 1]
      for (;;) {
        const byte = bytes[at++]
        if (byte === undefined) return Number.NaN
        value += (byte & LOW_BITS) * scale
        if (byte < MORE) return value
        scale *= MORE
      }
    }
    while (at < bytes.byteLength) {
      bin += 1 + next()
      const count = next()
      if (!(bin < TIME_BINS && Number.isSafeInteger(count))) return
      this.#put(bin, count)
    }
  }

  /** Pairs of varints: the number of empty bins before a bin, and the bin's count. */
  bytes(): Uint8Array<ArrayBuffer> {
    const bytes: number[] = []
    const put = (value: number): void => {
      let rest = value
      for (; rest >= MORE; rest = Math.floor(rest / MORE)) bytes.push((rest % MORE) | MORE)
      bytes.push(rest)
    }
    let last = -1
    for (const [bin, count] of this.#counts.entries()) {
      if (count === 0) continue
      put(bin - last - 1)
      put(count)
      last = bin
    }
    return Uint8Array.from(bytes)
  }

  /** `share`: 0.5 for the median. Milliseconds; null where there are no times. */
  percentile(share: number): number | null {
    return timeOfRank(this.#counts, this.#count * share)
  }

  #put(bin: number, count: number): void {
    this.#counts[bin] = (this.#counts[bin] ?? 0) + count
    this.#count += count
  }
}
