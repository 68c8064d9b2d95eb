/** The order of calls where there are more than slots: a short queue in which accounts take turns. Pure. Rules: pool.md "Overload". */

/** The part of all slots that is kept for accounts that run few; none of fewer than ten. */
const RESERVED_SHARE = 0.1

type Waiting = Readonly<{ accountId: string; admit: () => void }>

export class FairSlots {
  readonly #slots: () => number
  readonly #running = new Map<string, number>()
  readonly #waiting: Waiting[] = []
  #total = 0

  /** `slots`: how many may run at once, asked anew each time. */
  constructor(slots: () => number) {
    this.#slots = slots
  }

  get running(): number {
    return this.#total
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** Whether a slot is free for the account; if so the call takes it, until `leave`. */
  enter(accountId: string): boolean {
    if (!this.#mayRun(accountId)) return false
    this.#add(accountId)
    return true
  }

  /** Waits for a slot: a later `leave` calls `admit` once, and the call then has its slot. The returned function ends the wait. */
  wait(accountId: string, admit: () => void): () => void {
    const waiting = { accountId, admit }
    this.#waiting.push(waiting)
    return () => {
      const at = this.#waiting.indexOf(waiting)
      if (at !== -1) this.#waiting.splice(at, 1)
    }
  }

  leave(accountId: string): void {
    const left = (this.#running.get(accountId) ?? 0) - 1
    if (left > 0) this.#running.set(accountId, left)
    else this.#running.delete(accountId)
    this.#total--
    this.#admitNext()
  }

  /** The waiting account that runs least; among equals, the first one. */
  #admitNext(): void {
    let best: Waiting | undefined
    for (const waiting of this.#waiting) {
      if (best === undefined || this.#runningOf(waiting) < this.#runningOf(best)) best = waiting
    }
    if (best === undefined || !this.#mayRun(best.accountId)) return
    this.#waiting.splice(this.#waiting.indexOf(best), 1)
    this.#add(best.accountId)
    best.admit()
  }

  /** The last slots are for accounts with less than an equal share, so that one account cannot take them all. */
  #mayRun(accountId: string): boolean {
    const slots = this.#slots()
    const free = slots - this.#total
    if (free <= 0) return false
    const own = this.#running.get(accountId) ?? 0
    return free > Math.floor(slots * RESERVED_SHARE) || own < slots / (this.#running.size + 1)
  }

  #runningOf = ({ accountId }: Waiting): number => this.#running.get(accountId) ?? 0

  #add(accountId: string): void {
    this.#running.set(accountId, (this.#running.get(accountId) ?? 0) + 1)
    this.#total++
  }
}
