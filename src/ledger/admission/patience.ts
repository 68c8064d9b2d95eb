/**
 * Decides how long to wait for a Postgres, or a ledger process, that says nothing. Something is asked of it four times a second, so that its silence is noticed whatever
 * else is asked; then the callers that wait are told so, and need not wait as long as a connection takes to fail. Rules: nodes.md "Silence"; processes.md "Death".
 */

export type PatienceOptions = Readonly<{
  /** What was given up has failed by a bug since. */
  onBug: (bug: unknown) => void
  silenceMs?: number
  lookMs?: number
  monotonicMs?: () => number
}>

/** With the looks, and what a busy machine adds to them, less than the second that a client waits. */
const SILENCE_MS = 600
const LOOK_MS = 50
/** One look alone may come before an answer that is there already, because this thread stood still. */
const SILENT_LOOKS = 2

export class Patience {
  readonly #options: PatienceOptions
  readonly #silenceMs: number
  readonly #monotonicMs: () => number
  readonly #waiting = new Set<() => void>()
  #heardMs: number
  #silentLooks = 0
  #looks: ReturnType<typeof setInterval> | undefined

  constructor(options: PatienceOptions) {
    this.#options = options
    this.#silenceMs = options.silenceMs ?? SILENCE_MS
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now())
    this.#heardMs = this.#monotonicMs()
  }

  /** The server has answered something. */
  hear(): void {
    this.#heardMs = this.#monotonicMs()
    this.#silentLooks = 0
  }

  get isOver(): boolean {
    return this.#monotonicMs() - this.#heardMs > this.#silenceMs
  }

  /** What comes of it, or `unavailable` once the server is silent. `onLate` is told what comes of it after that, in the turn in which it comes. */
  async whileHeard<T>(working: Promise<T>, onLate: (late: T) => void = () => undefined): Promise<T | 'unavailable'> {
    const { promise: givenUp, resolve } = Promise.withResolvers<'unavailable'>()
    let isGivenUp = false
    const giveUp = (): void => {
      isGivenUp = true
      resolve('unavailable')
    }
    working.then(
      (late) => isGivenUp && onLate(late),
      (bug: unknown) => isGivenUp && this.#options.onBug(bug),
    )
    this.#waiting.add(giveUp)
    this.#looks ??= setInterval(() => this.#look(), this.#options.lookMs ?? LOOK_MS)
    try {
      return await Promise.race([working, givenUp])
    } finally {
      this.#waiting.delete(giveUp)
      if (this.#waiting.size === 0) this.#stop()
    }
  }

  #look(): void {
    this.#silentLooks = this.isOver ? this.#silentLooks + 1 : 0
    if (this.#silentLooks < SILENT_LOOKS) return
    for (const giveUp of this.#waiting) giveUp()
  }

  #stop(): void {
    clearInterval(this.#looks)
    this.#looks = undefined
  }
}
