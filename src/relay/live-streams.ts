/** The streams that run now, the ways to stop them from outside (a disabled key, a shutdown), and a signal when most of a crowd has gone. */

import type { KeyRecord } from '../core/key.ts'
import type { KeysOf } from '../ledger/ledger.ts'

export interface LiveStream {
  readonly key: Pick<KeyRecord, 'id' | 'accountId'>
  /** Where the stream stands among those that run. Only `LiveStreams` writes it. */
  livePlace?: number | undefined
  /** Ends the stream with its format's error, for this reason. Resolves when it is settled. */
  stop(reason: 'disabled' | 'drain'): Promise<void>
}

/** So many streams at once are a crowd, whose memory is worth collecting afterwards; the crowd has gone when less than this share of its streams is left. */
const CROWD_MIN = 1_000
const CALM_SHARE = 0.05

export class LiveStreams {
  /** An array, for what core/in-flight.ts says of sets: each stream refers to all of its request. */
  readonly #streams: LiveStream[] = []
  readonly #onCalm: () => void
  #mostAtOnce = 0
  #isDraining = false

  /** `onCalm`: called when a crowd has gone. */
  constructor(onCalm: () => void = () => undefined) {
    this.#onCalm = onCalm
  }

  /** Called in the turn in which the hold was granted, so that a key that is disabled later finds the stream here. */
  add(stream: LiveStream): void {
    stream.livePlace = this.#streams.push(stream) - 1
    this.#mostAtOnce = Math.max(this.#mostAtOnce, this.#streams.length)
    if (this.#isDraining) stream.stop('drain').catch(() => undefined)
  }

  remove(stream: LiveStream): void {
    if (stream.livePlace === undefined) return
    const last = this.#streams.pop()
    if (last !== undefined && last !== stream) {
      this.#streams[stream.livePlace] = last
      last.livePlace = stream.livePlace
    }
    stream.livePlace = undefined
    if (this.#mostAtOnce < CROWD_MIN || this.#streams.length > CALM_SHARE * this.#mostAtOnce) return
    this.#mostAtOnce = this.#streams.length
    this.#onCalm()
  }

  /** Ends the streams of what was disabled. */
  async cut(keys: KeysOf): Promise<void> {
    const isOf = 'keyId' in keys ? ofKey(keys.keyId) : ofAccount(keys.accountId)
    await Promise.all(this.#streams.filter(isOf).map((stream) => stream.stop('disabled')))
  }

  /** Also ends streams that begin later: a request may still be being read when the shutdown comes. */
  async drain(): Promise<void> {
    this.#isDraining = true
    await Promise.all([...this.#streams].map((stream) => stream.stop('drain')))
  }
}

const ofKey =
  (keyId: string) =>
  ({ key }: LiveStream) =>
    key.id === keyId
const ofAccount =
  (accountId: string) =>
  ({ key }: LiveStream) =>
    key.accountId === accountId
