/** What runs now, and the ways to stop it from outside: a disabled key, a shutdown. */

export interface LiveStream {
  readonly keyId: string
  /** Ends the stream with its format's error, for this reason. Resolves when it is settled. */
  stop(reason: 'disabled' | 'drain'): Promise<void>
}

export class LiveStreams {
  readonly #streams = new Set<LiveStream>()
  #isDraining = false

  /** In the turn in which the hold was granted: a key that is disabled in a later one finds the stream here. */
  add(stream: LiveStream): void {
    this.#streams.add(stream)
    if (this.#isDraining) stream.stop('drain').catch(() => undefined)
  }

  remove(stream: LiveStream): void {
    this.#streams.delete(stream)
  }

  /** The key, or its account, was disabled. */
  async cutKey(keyId: string): Promise<void> {
    await Promise.all([...this.#streams].filter((stream) => stream.keyId === keyId).map((stream) => stream.stop('disabled')))
  }

  /** Also what begins later: a request that was still being read when the shutdown came. */
  async drain(): Promise<void> {
    this.#isDraining = true
    await Promise.all([...this.#streams].map((stream) => stream.stop('drain')))
  }
}
