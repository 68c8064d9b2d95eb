/**
 * Admission on a ledger that several nodes share. A request that this node's leases cover is held at once; for any other, the node asks the ledger for a larger lease and
 * waits for the answer. Idle leases are given back. Rules: ledger.md "Leases".
 */

import type { LeaseMove } from '../lease-move.ts'
import type { HoldAnswer, HoldRequest } from '../ledger.ts'
import { LeaseLine } from './lease-line.ts'
import type { Wallets } from './wallets.ts'
import type { Writer } from './writer.ts'

type LeasesOptions = Readonly<{
  wallets: Wallets
  writer: Pick<Writer, 'ask'>
  /** Called when a request that had to wait is held. */
  onHeld: () => void
  /** How long a part of a lease may lie idle before it is given back. */
  idleMs: number
  onBug: (bug: unknown) => void
}>

export class Leases {
  readonly #options: LeasesOptions
  /** The lines of accounts for which requests wait, by account number. */
  readonly #lines = new Map<number, LeaseLine>()
  #sweep: ReturnType<typeof setInterval> | undefined

  constructor(options: LeasesOptions) {
    this.#options = options
  }

  /** `unknown`: the key must be loaded first. */
  hold(request: HoldRequest): HoldAnswer | 'unknown' | Promise<HoldAnswer> {
    const { wallets } = this.#options
    const account = wallets.keys.accountNumberOf(request.keyId)
    if (account === undefined) return 'unknown'
    // A request is held at once only when no earlier request of its key waits.
    const isNext = this.#lines.get(account)?.has(request.keyId) !== true
    const answer = isNext ? wallets.holdCovered(request, performance.now()) : 'uncovered'
    return answer === 'uncovered' ? this.#lineOf(account).join(request) : answer
  }

  /** To be called when a request of the key has ended and its settle is sent. */
  noteEnd(keyId: string): void {
    const release = this.#options.wallets.releaseOf(keyId)
    if (release !== undefined) this.#release([release])
  }

  /** Gives back the account's idle leases, because another node needs them. */
  giveBack(accountNumber: number): void {
    this.#release(this.#options.wallets.releases('wanted', accountNumber))
  }

  /** Gives back all idle leases, before the ledger is closed. */
  stop(): void {
    clearInterval(this.#sweep)
    this.#sweep = undefined
    this.#release(this.#options.wallets.releases('over'))
  }

  #lineOf(account: number): LeaseLine {
    const { wallets, writer, onHeld, onBug, idleMs } = this.#options
    this.#sweep ??= setInterval(() => this.#lookForIdle(), idleMs)
    const known = this.#lines.get(account)
    if (known !== undefined) return known
    const onEmpty = (): void => void this.#lines.delete(account)
    const line = new LeaseLine({ wallets, writer, onHeld, onAnswered: (keyId) => this.noteEnd(keyId), onEmpty, onBug })
    this.#lines.set(account, line)
    return line
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
