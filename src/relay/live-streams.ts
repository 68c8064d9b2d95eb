/** The streams that run now, the ways to stop them from outside (a disabled key, a shutdown), and a signal when most of a crowd has gone. */

export interface LiveStream {
  readonly keyId: string
  /** Ends the stream with its format's error, for this reason. Resolves when it is settled. */
  stop(reason: 'disabled' | 'drain'): Promise<void>
}

/** So many streams at once are a crowd, whose memory is worth collecting afterwards; the crowd has gone when less than this share of its streams is left. */
const CROWD_MIN = 1_000
const CALM_SHARE = 0.05

export class LiveStreams {
  readonly #streams = new Set<LiveStream>()
  readonly #onCalm: () => void
  #mostAtOnce = 0
  #isDraining = false

  /** `onCalm`: called when a crowd has gone. */
  constructor(onCalm: () => void = () => undefined) {
    this.#onCalm = onCalm
  }

  /** Called in the turn in which the hold was granted, so that a key that is disabled later finds the stream here. */
  add(stream: LiveStream): void {
    this.#streams.add(stream)
    this.#mostAtOnce = Math.max(this.#mostAtOnce, this.#streams.size)
    if (this.#isDraining) stream.stop('drain').catch(() => undefined)
  }

  remove(stream: LiveStream): void {
    this.#streams.delete(stream)
    if (this.#mostAtOnce < CROWD_MIN || this.#streams.size > CALM_SHARE * this.#mostAtOnce) return
    this.#mostAtOnce = this.#streams.size
    this.#onCalm()
  }

  /** Ends the streams of a key that was disabled, or whose account was. */
  async cutKey(keyId: string): Promise<void> {
    await Promise.all([...this.#streams].filter((stream) => stream.keyId === keyId).map((stream) => stream.stop('disabled')))
  }

  /** Also ends streams that begin later: a request may still be being read when the shutdown comes. */
  async drain(): Promise<void> {
    this.#isDraining = true
    await Promise.all([...this.#streams].map((stream) => stream.stop('drain')))
  }
}
