/** Leaves a row of every request that is held for longer than a moment, by which its end is known should this process die. Rules: money.md "Crashes". */

import type { Progress } from '../ledger.ts'
import type { Mark } from '../task.ts'
import type { Wallets } from './wallets.ts'
import type { Writer } from './writer.ts'

type Around = Readonly<{
  wallets: Wallets
  writer: Writer
  /** How old a request is when it leaves its first mark. */
  afterMs: number
  now: () => number
}>

const SWEEP_MS_MAX = 250

export class RequestMarks {
  readonly #around: Around
  #sweep: ReturnType<typeof setInterval> | undefined

  constructor(around: Around) {
    this.#around = around
  }

  /** Something is held. */
  watch(): void {
    this.#sweep ??= setInterval(() => this.#markOld(), Math.min(SWEEP_MS_MAX, this.#around.afterMs / 2))
  }

  /** More is known of a request: its row says it, if it has one. */
  note(requestId: string, progress: Progress): void {
    const mark = this.#around.wallets.mark(requestId, progress)
    if (mark !== undefined) this.#send(mark)
  }

  /** The storage may have lost the last ones. */
  repeat(): void {
    for (const mark of this.#around.wallets.marks()) this.#send(mark)
  }

  stop(): void {
    clearInterval(this.#sweep)
    this.#sweep = undefined
  }

  #markOld(): void {
    const { wallets, afterMs } = this.#around
    for (const mark of wallets.due(performance.now() - afterMs)) this.#send(mark)
    if (wallets.isIdle) this.stop()
  }

  #send(mark: Mark): void {
    const { writer, now } = this.#around
    writer.tell({ kind: 'mark', mark, now: now() })
  }
}
