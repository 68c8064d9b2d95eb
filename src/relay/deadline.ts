/** The time limits of one request, as one signal that aborts the upstream call. Rules: contract.md "Limits"; faults.md "Time limits". */

/** Why an upstream call was aborted by us. */
export type StopReason = 'deadline' | 'stall' | 'leaver' | 'drain' | 'disabled' | 'write-stall' | 'done'

export class Deadline {
  readonly #controller = new AbortController()
  readonly #timer: ReturnType<typeof setTimeout>
  #reason: StopReason | undefined

  /** `onPass` runs when the limit passes; the first reason to stop is kept. */
  constructor(limitMs: number, onPass: () => void = () => undefined) {
    this.#timer = setTimeout(() => {
      this.stop('deadline')
      onPass()
    }, limitMs)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get reason(): StopReason | undefined {
    return this.#reason
  }

  stop(reason: StopReason): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    clearTimeout(this.#timer)
    this.#controller.abort()
  }
}
