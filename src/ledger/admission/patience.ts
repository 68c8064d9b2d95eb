/**
 * Decides how long to wait for a Postgres, or a ledger process, that says nothing. It is asked something four times a second, so that its silence is noticed even when
 * nothing else is asked. When it is silent, the waiting callers are told so, and need not wait until the connection fails. Rules: nodes.md "Silence"; processes.md "Death".
 */

export type PatienceOptions = Readonly<{
  /** Called when a promise that was given up is rejected later, which only a bug does. */
  onBug: (bug: unknown) => void
  silenceMs?: number
  lookMs?: number
  monotonicMs?: () => number
}>

/** How long a silence may last. Together with the looks, and with the delay of a busy machine, it is less than the second that a client waits. */
const SILENCE_MS = 600
const LOOK_MS = 50
/** How many looks in a row must find silence: after this thread stood still, the first look may run before the handler of an answer that has already arrived. */
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

  /** To be called when the server has answered anything. */
  hear(): void {
    this.#heardMs = this.#monotonicMs()
    this.#silentLooks = 0
  }

  get isOver(): boolean {
    return this.#monotonicMs() - this.#heardMs > this.#silenceMs
  }

  /** The value of `working`, or `unavailable` once the server is silent. `onLate` gets a value that comes after that, in the turn in which it comes. */
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
