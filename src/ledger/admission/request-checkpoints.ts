/** Writes a row for every request that is held for longer than a moment: should this process die, the row says how far the request had come. Rules: money.md "Crashes". */

import type { Progress } from '../ledger.ts'
import type { InFlightCheckpoint } from '../task.ts'
import type { Wallets } from './wallets.ts'
import type { Writer } from './writer.ts'

type Around = Readonly<{
  wallets: Wallets
  writer: Writer
  /** How old a request is when it leaves its first checkpoint. */
  afterMs: number
  now: () => number
}>

const SWEEP_MS_MAX = 250

export class RequestCheckpoints {
  readonly #around: Around
  #sweep: ReturnType<typeof setInterval> | undefined

  constructor(around: Around) {
    this.#around = around
  }

  /** To be called when a request is held. */
  watch(): void {
    this.#sweep ??= setInterval(() => this.#checkpointOld(), Math.min(SWEEP_MS_MAX, this.#around.afterMs / 2))
  }

  /** To be called when a request has made progress; its row is written again, if it has one. */
  note(requestId: string, progress: Progress): void {
    const checkpoint = this.#around.wallets.checkpoint(requestId, progress)
    if (checkpoint !== undefined) this.#send(checkpoint)
  }

  /** Writes all checkpoints again, because the storage may have lost the last ones. */
  repeat(): void {
    for (const checkpoint of this.#around.wallets.checkpoints()) this.#send(checkpoint)
  }

  stop(): void {
    clearInterval(this.#sweep)
    this.#sweep = undefined
  }

  #checkpointOld(): void {
    const { wallets, afterMs } = this.#around
    for (const checkpoint of wallets.due(performance.now() - afterMs)) this.#send(checkpoint)
    if (wallets.isIdle) this.stop()
  }

  #send(checkpoint: InFlightCheckpoint): void {
    const { writer, now } = this.#around
    writer.tell({ kind: 'checkpoint', checkpoint, now: now() })
  }
}
