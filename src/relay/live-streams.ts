/** The streams that run now: a pulse for their idle limits, and the ways to stop them from outside (a disabled key, a shutdown). */

export interface LiveStream {
  readonly keyId: string
  /** Called on every pulse with the monotonic time. */
  pulse(nowMs: number): void
  /** Ends the stream with its format's error, for this reason. Resolves when it is settled. */
  stop(reason: 'disabled' | 'drain'): Promise<void>
}

/** Well below the shortest default limit, so that "within a second" holds. */
const PULSE_MS = 250

export class LiveStreams {
  readonly #streams = new Set<LiveStream>()
  readonly #monotonicMs: () => number
  /** Keys that were cut in this turn of the event loop. */
  readonly #justCut = new Set<string>()
  #timer: ReturnType<typeof setInterval> | undefined
  #isDraining = false

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs
  }

  /** `pulseMs` for limits in milliseconds, as tests set them. */
  add(stream: LiveStream, pulseMs = PULSE_MS): void {
    this.#streams.add(stream)
    const reason = this.#isDraining ? 'drain' : this.#justCut.has(stream.keyId) ? 'disabled' : undefined
    if (reason !== undefined) stream.stop(reason).catch(() => undefined)
    this.#timer ??= setInterval(() => this.#pulse(), Math.max(5, Math.min(PULSE_MS, pulseMs)))
  }

  remove(stream: LiveStream): void {
    this.#streams.delete(stream)
    if (this.#streams.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** The key, or its account, was disabled. Also a stream whose hold was granted before and that begins later in this turn. */
  async cutKey(keyId: string): Promise<void> {
    this.#justCut.add(keyId)
    setImmediate(() => this.#justCut.delete(keyId))
    await Promise.all([...this.#streams].filter((stream) => stream.keyId === keyId).map((stream) => stream.stop('disabled')))
  }

  /** Also what begins later: a request that was still being read when the shutdown came. */
  async drain(): Promise<void> {
    this.#isDraining = true
    await Promise.all([...this.#streams].map((stream) => stream.stop('drain')))
  }

  #pulse(): void {
    const now = this.#monotonicMs()
    for (const stream of this.#streams) stream.pulse(now)
  }
}
