/** Leaves a row of every request that is held for longer than a moment, by which its end is known should this process die. Rules: money.md "Crashes". */

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

  /** Something is held. */
  watch(): void {
    this.#sweep ??= setInterval(() => this.#checkpointOld(), Math.min(SWEEP_MS_MAX, this.#around.afterMs / 2))
  }

  /** More is known of a request: its row says it, if it has one. */
  note(requestId: string, progress: Progress): void {
    const checkpoint = this.#around.wallets.checkpoint(requestId, progress)
    if (checkpoint !== undefined) this.#send(checkpoint)
  }

  /** The storage may have lost the last ones. */
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
