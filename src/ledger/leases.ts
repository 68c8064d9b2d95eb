/**
 * Admission on a ledger that several nodes share: at once from what this node has leased, else it asks the ledger for more and waits for the answer; what lies idle
 * goes back. Rules: ledger.md "Leases".
 */

import type { HoldAnswer, HoldRequest } from './ledger.ts'
import type { LeaseAsk, LeaseMove } from './task.ts'
import type { Wallets } from './wallets.ts'
import type { Writer } from './writer.ts'

/** Within it others give back what is idle of theirs. */
const WANTED_MS_MAX = 100
const FIRST_PAUSE_MS = 5

type LeasesOptions = Readonly<{
  wallets: Wallets
  writer: Pick<Writer, 'ask' | 'isClosing'>
  /** What was idle for that long goes back. */
  idleMs: number
  onBug: (bug: unknown) => void
}>

export class Leases {
  readonly #options: LeasesOptions
  #sweep: ReturnType<typeof setInterval> | undefined

  constructor(options: LeasesOptions) {
    this.#options = options
  }

  /** `unknown`: the key must be loaded first. */
  hold(request: HoldRequest): HoldAnswer | 'unknown' | Promise<HoldAnswer> {
    const answer = this.#options.wallets.holdLeased(request, performance.now())
    return typeof answer === 'string' ? answer : this.#holdAsked(request, answer)
  }

  /** A request of the key has ended, and its settle is sent. */
  noteEnd(keyId: string): void {
    const release = this.#options.wallets.releaseOf(keyId)
    if (release !== undefined) this.#release([release])
  }

  /** Another node needs what is idle of this account. */
  giveBack(accountNumber: number): void {
    this.#release(this.#options.wallets.releases('wanted', accountNumber))
  }

  /** Everything that is idle, before the ledger is closed. */
  stop(): void {
    clearInterval(this.#sweep)
    this.#sweep = undefined
    this.#release(this.#options.wallets.releases('over'))
  }

  async #holdAsked(request: HoldRequest, first: LeaseAsk): Promise<HoldAnswer> {
    const { wallets, writer, idleMs } = this.#options
    this.#sweep ??= setInterval(() => this.#lookForIdle(), idleMs)
    const until = performance.now() + WANTED_MS_MAX
    let pauseMs = FIRST_PAUSE_MS
    for (let ask = first; ; pauseMs *= 2) {
      const answer = await writer.ask({ kind: 'ask', ask })
      this.noteEnd(request.keyId)
      if (answer === 'unavailable') return 'unavailable'
      if (answer.verdict === 'exhausted' || answer.verdict === 'disabled') return answer.verdict
      const restMs = until - performance.now()
      if (answer.verdict !== 'granted') {
        if (answer.verdict === 'reserved' || restMs <= 0) return 'reserved'
        await Bun.sleep(Math.min(pauseMs, restMs))
        if (writer.isClosing) return 'unavailable'
      }
      // Where it was granted the wallets hold it since the turn in which that was heard.
      const again = wallets.holdLeased(request, performance.now())
      if (typeof again === 'string') return again === 'unknown' ? 'unavailable' : again
      ask = again
    }
  }

  #lookForIdle(): void {
    const { wallets } = this.#options
    this.#release(wallets.sweepLeases())
    if (!wallets.isWithoutLeases) return
    clearInterval(this.#sweep)
    this.#sweep = undefined
  }

  #release(releases: readonly LeaseMove[]): void {
    const { writer, onBug } = this.#options
    for (const release of releases) writer.ask({ kind: 'release', release }).catch(onBug)
  }
}
