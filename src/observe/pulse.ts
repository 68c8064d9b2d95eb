/**
 * The last minute of the gateway, for the console. It is always kept, so that the first look sees a whole minute, and costs each request a few additions in
 * fixed arrays. Rules: pages.md "Now".
 */

import { LastMinute, RecentTimes } from '../core/last-minute.ts'
import { type Picos, picos, ZERO } from '../core/money.ts'
import { REFUSALS } from '../core/refusal.ts'
import type { RequestLine } from './request-line.ts'

/** The figures are of the last sixty seconds, unless a comment says otherwise. */
export type PulseReading = Readonly<{
  /** Requests that ended, including refused ones. */
  requests: number
  /** Requests that ended in the last whole second. */
  lastSecond: number
  /** Refusals by name; a name without any is left out. */
  refusals: readonly Readonly<{ name: string; count: number }>[]
  /** Times to the first byte, and of commits, as counts of bins. */
  firstBytes: readonly number[]
  commits: readonly number[]
  /** Groups that were committed, and the tasks in them. */
  groups: number
  grouped: number
  /** Upstream calls that were answered, calls that failed, and requests that went on to another upstream. */
  calls: Readonly<{ answered: number; failed: number; retried: number }>
  /** The amount of this UTC day, as far as this process has run on it. */
  cacheLostPicos: Picos
  /** Requests of the same day whose conversations left the account that their thinking may be bound to. */
  thinkingLost: number
}>

/** To moves of conversations. `day`: of UTC. `thinking`: how many requests. */
type Lost = Readonly<{ day: number; cachePicos: Picos; thinking: number }>

const NOTHING_LOST = { cachePicos: ZERO, thinking: 0 }

const REFUSAL_NAMES = Object.keys(REFUSALS)
const COLUMN_OF: ReadonlyMap<string, number> = new Map(REFUSAL_NAMES.map((name, column) => [name, column]))
const REQUESTS = REFUSAL_NAMES.length
const GROUPS = REQUESTS + 1
const GROUPED = REQUESTS + 2
const ANSWERED = REQUESTS + 3
const FAILED = REQUESTS + 4
const RETRIED = REQUESTS + 5
const COLUMNS = REQUESTS + 6
const DAY_MS = 86_400_000

export class Pulse {
  readonly #counts = new LastMinute(COLUMNS)
  readonly #firstBytes = new RecentTimes()
  readonly #commits = new RecentTimes()
  readonly #monotonicMs: () => number
  readonly #now: () => number
  #lost: Lost = { ...NOTHING_LOST, day: 0 }

  /** `now`: Unix milliseconds. */
  constructor({ monotonicMs, now }: Readonly<{ monotonicMs: () => number; now: () => number }>) {
    this.#monotonicMs = monotonicMs
    this.#now = now
  }

  ended({ refusal, firstByteMs, cacheLostPicos = ZERO, hasLostThinking = false }: RequestLine): void {
    const nowMs = this.#monotonicMs()
    this.#counts.add(REQUESTS, nowMs)
    const column = refusal === undefined ? undefined : COLUMN_OF.get(refusal)
    if (column !== undefined) this.#counts.add(column, nowMs)
    if (firstByteMs !== undefined) this.#firstBytes.add(firstByteMs, nowMs)
    if (cacheLostPicos === ZERO && !hasLostThinking) return
    const lost = this.#lostToday()
    this.#lost = {
      day: this.#day(),
      cachePicos: picos(lost.cachePicos + cacheLostPicos),
      thinking: lost.thinking + (hasLostThinking ? 1 : 0),
    }
  }

  committed(commitMs: number, size: number): void {
    const nowMs = this.#monotonicMs()
    this.#commits.add(commitMs, nowMs)
    this.#counts.add(GROUPS, nowMs)
    this.#counts.add(GROUPED, nowMs, size)
  }

  called(isAnswered: boolean): void {
    this.#counts.add(isAnswered ? ANSWERED : FAILED, this.#monotonicMs())
  }

  retried(): void {
    this.#counts.add(RETRIED, this.#monotonicMs())
  }

  read(): PulseReading {
    const nowMs = this.#monotonicMs()
    const counts = this.#counts.sums(nowMs)
    const lost = this.#lostToday()
    const of = (column: number): number => counts[column] ?? 0
    return {
      requests: of(REQUESTS),
      lastSecond: this.#counts.ofSecondBefore(REQUESTS, nowMs),
      refusals: REFUSAL_NAMES.map((name, column) => ({ name, count: of(column) })).filter(({ count }) => count > 0),
      firstBytes: this.#firstBytes.bins(nowMs),
      commits: this.#commits.bins(nowMs),
      groups: of(GROUPS),
      grouped: of(GROUPED),
      calls: { answered: of(ANSWERED), failed: of(FAILED), retried: of(RETRIED) },
      cacheLostPicos: lost.cachePicos,
      thinkingLost: lost.thinking,
    }
  }

  #lostToday(): Lost {
    const day = this.#day()
    return this.#lost.day === day ? this.#lost : { ...NOTHING_LOST, day }
  }

  #day(): number {
    return Math.floor(this.#now() / DAY_MS)
  }
}
