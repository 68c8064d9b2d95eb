/** The garbage of many requests, which an idle process does not collect by itself. Rules: platform.md "Memory". */

/** So many requests leave some 30 MB. */
const MANY = 1_000

/** `soon`: calls what it is given about a second later. */
type Options = Readonly<{ soon: (run: () => void) => void; isIdle: () => boolean; collect: () => void }>

export class IdleGarbage {
  readonly #options: Options
  #endedSince = 0
  #isAwaited = false

  constructor(options: Options) {
    this.#options = options
  }

  /** To be called at the end of each request. */
  onEnd(): void {
    this.#endedSince++
    if (this.#isAwaited || this.#endedSince < MANY || !this.#options.isIdle()) return
    this.#isAwaited = true
    this.#collectAfter(this.#endedSince)
  }

  /** Collects once none runs and none has ended for a while: to collect everything takes the loop some 40 ms. */
  #collectAfter(ended: number): void {
    this.#options.soon(() => {
      if (this.#endedSince !== ended || !this.#options.isIdle()) return this.#collectAfter(this.#endedSince)
      this.#isAwaited = false
      this.#endedSince = 0
      this.#options.collect()
    })
  }
}
