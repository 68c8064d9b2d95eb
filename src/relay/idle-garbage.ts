/** The garbage of many requests and of a crowd of streams, which an idle process does not collect by itself. Rules: platform.md "Memory". */

/** So many requests leave some 30 MB. */
const MANY = 1_000
/** The last bytes of what has ended are out by then. */
const SOON_MS = 1_000
/** To collect everything takes the loop some 40 ms: so it is done seldom, however many requests are refused meanwhile. */
const APART_MS = 10_000

type Options = Readonly<{
  /** Milliseconds that never jump. */
  now: () => number
  /** Calls what it is given so many milliseconds later. */
  after: (ms: number, run: () => void) => void
  isIdle: () => boolean
  collect: () => void
}>

export class IdleGarbage {
  readonly #options: Options
  #endedSince = 0
  #hasCrowdGone = false
  #isAwaited = false
  #collectedMs = Number.NEGATIVE_INFINITY

  constructor(options: Options) {
    this.#options = options
  }

  /** To be called at the end of each request. */
  onEnd(): void {
    this.#endedSince++
    if (this.#endedSince >= MANY && this.#options.isIdle()) this.#await()
  }

  /** To be called when most of a crowd of streams has gone: the few that are left may run on for long, so what the others have left does not wait for them. */
  onCalm(): void {
    this.#hasCrowdGone = true
    this.#await()
  }

  #await(): void {
    if (this.#isAwaited) return
    this.#isAwaited = true
    this.#collectAfter(this.#endedSince)
  }

  /** Collects what requests have left once none runs and none has ended for a while. */
  #collectAfter(ended: number): void {
    const { now, after, isIdle, collect } = this.#options
    after(Math.max(SOON_MS, this.#collectedMs + APART_MS - now()), () => {
      const isResting = this.#endedSince === ended && isIdle()
      if (!this.#hasCrowdGone && !isResting) return this.#collectAfter(this.#endedSince)
      this.#isAwaited = false
      this.#hasCrowdGone = false
      this.#endedSince = 0
      this.#collectedMs = now()
      collect()
    })
  }
}
