/** Time that moves only when it is told: clocks and timers of the whole process while a simulation runs, so that a seed decides the order of everything. */

type Timer = Readonly<{ at: number; order: number; every: number | undefined; owner: object; run: () => void }>

const GATEWAY = {}

/** A real turn of the loop, after all that was promised. */
const realSetImmediate = globalThis.setImmediate

const START = 1_800_000_000_000

export class VirtualTime {
  #now = 0
  #steppedMs = 0
  #order = 0
  /** Whose timers are set now: each thread's own, else the gateway's. */
  #owner: object = GATEWAY
  readonly #timers = new Map<number, Timer>()
  /** Whose timers do not run now. */
  readonly #frozen = new Set<object>()
  readonly #restore: () => void

  /** Takes the process's clocks and timers over until `restore`. */
  constructor() {
    const { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval } = globalThis
    const { now } = performance
    const { now: dateNow } = Date
    const { sleep } = Bun
    const add = (run: () => void, afterMs = 0, every?: number) => this.#add(run, afterMs, every)
    const drop = (timer: unknown): void => {
      this.#timers.delete(Number(timer))
    }
    Object.assign(globalThis, {
      setTimeout: <T extends readonly unknown[]>(run: (...args: T) => void, afterMs?: number, ...args: T) =>
        add(() => run(...args), afterMs),
      setInterval: (run: () => void, everyMs: number) => add(run, everyMs, everyMs),
      setImmediate: (run: () => void) => add(run),
      clearTimeout: drop,
      clearInterval: drop,
    })
    performance.now = () => this.#now
    Date.now = this.now
    Object.assign(Bun, { sleep: (ms: number) => new Promise<void>((resolve) => add(resolve, ms)) })
    this.#restore = () => {
      Object.assign(globalThis, { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval })
      performance.now = now
      Date.now = dateNow
      Object.assign(Bun, { sleep })
    }
  }

  restore(): void {
    this.#timers.clear()
    this.#restore()
  }

  /** Unix milliseconds. */
  readonly now = (): number => START + this.#steppedMs + Math.floor(this.#now)

  /** The clock is set anew, as people and time servers do it; timers and all that is monotonic do not hear of it. */
  stepClock(ms: number): void {
    this.#steppedMs += ms
  }

  advance(ms: number): void {
    this.#now += ms
  }

  /** How long until the next timer; undefined where there is none. */
  get nextInMs(): number | undefined {
    const next = this.#next()
    return next === undefined ? undefined : Math.max(0, next[1].at - this.#now)
  }

  /** Runs the timer that is due first, and moves the clock to it. False: there is none. */
  runNext(): boolean {
    const next = this.#next()
    if (next === undefined) return false
    const [id, timer] = next
    this.#now = Math.max(this.#now, timer.at)
    if (timer.every === undefined) this.#timers.delete(id)
    else this.#timers.set(id, { ...timer, at: this.#now + timer.every, order: ++this.#order })
    this.as(timer.owner, timer.run)
    return true
  }

  /** What is set meanwhile is of this owner, and ends with it. */
  as<T>(owner: object, run: () => T): T {
    const before = this.#owner
    this.#owner = owner
    try {
      return run()
    } finally {
      this.#owner = before
    }
  }

  /** Owners that stand still: their timers run late, when they go on. */
  freeze(...owners: readonly object[]): void {
    for (const owner of owners) this.#frozen.add(owner)
  }

  thaw(): void {
    this.#frozen.clear()
  }

  /** The timers of whoever died; without an owner all of them. */
  forget(owner?: object): void {
    for (const [id, timer] of this.#timers) if (owner === undefined || timer.owner === owner) this.#timers.delete(id)
  }

  #add(run: () => void, afterMs: number, every?: number): object {
    const id = ++this.#order
    this.#timers.set(id, { at: this.#now + Math.max(0, afterMs), order: id, every, owner: this.#owner, run })
    return { [Symbol.toPrimitive]: () => id, unref: () => undefined, ref: () => undefined }
  }

  #next(): [number, Timer] | undefined {
    let best: [number, Timer] | undefined
    for (const entry of this.#timers) {
      if (this.#frozen.has(entry[1].owner)) continue
      if (best === undefined || entry[1].at < best[1].at || (entry[1].at === best[1].at && entry[1].order < best[1].order)) best = entry
    }
    return best
  }
}

/** Lets everything run that was promised: what a turn of the loop would do. */
export const settleTurn = (): Promise<void> => new Promise((resolve) => void realSetImmediate(resolve))

/** Runs timers, and what they promise, until this time is over. */
export async function pass(time: VirtualTime, ms: number): Promise<void> {
  const untilMs = performance.now() + ms
  while (time.nextInMs !== undefined && performance.now() + time.nextInMs <= untilMs) {
    time.runNext()
    await settleTurn()
  }
  time.advance(untilMs - performance.now())
}
