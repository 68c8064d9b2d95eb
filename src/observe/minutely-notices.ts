/**
 * Notices of what an upstream may do in every answer, such as telling a usage that cannot be true. The first is written at once, then one a minute and upstream, with the count
 * since the last. Rules: operator.md "Log"; money.md "Estimates".
 */

const EVERY_MS = 60_000

type Told = { atMs: number; count: number }

/** `Detail`: what a notice tells of the newest of the events that it counts. */
export class MinutelyNotices<Detail = undefined> {
  readonly #notice: (upstream: string, count: number, detail: Detail) => void
  readonly #now: () => number
  /** The last notice of each upstream, by its name in the configuration. */
  readonly #told = new Map<string, Told>()

  /** `now`: milliseconds that never jump. */
  constructor(notice: (upstream: string, count: number, detail: Detail) => void, now: () => number) {
    this.#notice = notice
    this.#now = now
  }

  add(upstream: string, detail: Detail): void {
    const now = this.#now()
    const told = this.#told.get(upstream) ?? { atMs: Number.NEGATIVE_INFINITY, count: 0 }
    const count = told.count + 1
    const isDue = now - told.atMs >= EVERY_MS
    this.#told.set(upstream, isDue ? { atMs: now, count: 0 } : { ...told, count })
    if (isDue) this.#notice(upstream, count, detail)
  }
}
