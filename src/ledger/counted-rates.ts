/**
 * The rates of plans and keys in the memory of one process: that of a gateway alone, or of the ledger process for its relays. Where nodes share a database,
 * db/postgres/migrations/0006_rates.sql does the same. Rules: keys.md "Rates", "Rates over nodes"; processes.md "Shared".
 */

import { boundedMap } from '../core/bounded-map.ts'
import { amountsOf, changed, isEmpty, type Levels, levelsAt, NO_AMOUNTS, type RateLimits, waitMsFor } from '../core/token-buckets.ts'
import type { RateAnswer, RateAsk, RateCorrection, RateOwner, RateStanding } from './shared-rates.ts'

/** Processes that are remembered: more than ever run at once. */
const PROCESSES_MAX = 1_000
/** After this many takes, owners of whom nothing is taken are forgotten. */
const TAKES_BETWEEN_SWEEPS = 10_000

type Counted = { levels: Levels; limits: RateLimits }

export class CountedRates {
  readonly #counted = new Map<string, Counted>()
  /** By owner, then by process: how many of its requests run there. */
  readonly #running = new Map<string, Map<number, number>>()
  readonly #processes = new Set<number>()
  /** By process, also where its connection was lost: the number of its last corrections. */
  readonly #heard = boundedMap<number>(PROCESSES_MAX)
  readonly #nowMs: () => number
  #takes = 0

  /** `nowMs`: milliseconds that never jump. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  join(boot: number, running: readonly (readonly [owner: string, running: number])[]): void {
    this.leave(boot)
    this.#processes.add(boot)
    for (const [owner, count] of running) this.#setRunning(owner, boot, count)
  }

  leave(boot: number): void {
    this.#processes.delete(boot)
    for (const owner of [...this.#running.keys()]) this.#setRunning(owner, boot, 0)
  }

  take(boot: number, { owners, wanted, slots }: RateAsk): RateAnswer {
    const nowMs = this.#nowMs()
    if (++this.#takes >= TAKES_BETWEEN_SWEEPS) this.#sweep(nowMs)
    const counted = owners.map((owner) => this.#countedOf(owner, nowMs))
    const isFull = (owner: RateOwner): boolean =>
      owner.limits.concurrentRequests !== null && this.#othersOf(owner.name, boot) + owner.running > owner.limits.concurrentRequests
    const full = owners.map((owner) => slots > 0 && isFull(owner))
    const isAdmitted = !full.includes(true) && counted.every(({ levels, limits }) => waitMsFor(levels, limits, wanted) === 0)
    const amounts = amountsOf(wanted)
    const standings = owners.map(({ name, running }, index): RateStanding => {
      const one = counted[index] as Counted
      if (isAdmitted) one.levels = changed(one.levels, one.limits, amounts)
      this.#setRunning(name, boot, isAdmitted ? running : running - slots)
      const { requests, input, output } = one.levels
      return { requests, input, output, isFull: full[index] === true }
    })
    return { isAdmitted, owners: standings, nodes: Math.max(1, this.#processes.size) }
  }

  /** `number`: the process's own, which grows with its corrections; those that were heard already count no more. */
  correct(boot: number, corrections: readonly RateCorrection[], number = Number.POSITIVE_INFINITY): void {
    const isNew = number > (this.#heard.get(String(boot)) ?? 0)
    if (Number.isFinite(number) && isNew) this.#heard.set(String(boot), number)
    for (const { owner, amounts: told } of corrections) {
      // The limits may have been changed since the request was let in: a bucket that they did not have keeps what was taken of it.
      const { limits } = this.#counted.get(owner.name) ?? owner
      const amounts = isNew ? told : NO_AMOUNTS
      const counted = this.#countedOf({ ...owner, limits }, this.#nowMs())
      counted.levels = changed(counted.levels, counted.limits, amounts)
      this.#setRunning(owner.name, boot, owner.running)
    }
  }

  #countedOf({ name, limits }: RateOwner, nowMs: number): Counted {
    const levels = levelsAt(this.#counted.get(name)?.levels, limits, nowMs)
    const counted = { levels, limits }
    this.#counted.set(name, counted)
    return counted
  }

  #othersOf(owner: string, boot: number): number {
    let others = 0
    for (const [of, count] of this.#running.get(owner) ?? []) if (of !== boot) others += count
    return others
  }

  #setRunning(owner: string, boot: number, count: number): void {
    const running = this.#running.get(owner) ?? new Map<number, number>()
    if (count > 0) {
      running.set(boot, count)
      this.#running.set(owner, running)
    } else if (running.delete(boot) && running.size === 0) this.#running.delete(owner)
  }

  #sweep(nowMs: number): void {
    this.#takes = 0
    for (const [owner, { levels, limits }] of this.#counted) if (isEmpty(levelsAt(levels, limits, nowMs))) this.#counted.delete(owner)
  }
}
