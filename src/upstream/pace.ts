/**
 * How fast an upstream begins to answer, compared with its own norm: one that has become slow loses conversations before it fails. Pure. Rules: pool.md
 * "Choice".
 */

/** The share of the newest value in each average. */
const RECENT = 0.2
const NORM = 0.01
/** The norm needs this many answers. */
const ANSWERS_MIN = 20
/** Small absolute differences do not matter. */
const SLACK_MS = 500

export class Pace {
  #answers = 0
  #recentMs = 0
  #normMs = 0

  /** The recent time to the first event; 0 where it is unknown. */
  get firstEventMs(): number {
    return this.#recentMs
  }

  began(firstEventMs: number): void {
    this.#answers++
    if (this.#answers === 1) {
      this.#recentMs = this.#normMs = firstEventMs
      return
    }
    this.#recentMs += (firstEventMs - this.#recentMs) * RECENT
    this.#normMs += (firstEventMs - this.#normMs) * Math.max(NORM, 1 / this.#answers)
  }

  /** The used part of the upstream's weight: 1, or less where its answers begin three or six times later than its norm. In steps, so that few conversations move. */
  share(): 1 | 0.5 | 0.25 {
    if (this.#answers < ANSWERS_MIN) return 1
    if (this.#recentMs > this.#normMs * 6 + SLACK_MS) return 0.25
    return this.#recentMs > this.#normMs * 3 + SLACK_MS ? 0.5 : 1
  }
}
