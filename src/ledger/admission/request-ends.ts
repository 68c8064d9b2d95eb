/**
 * Follows requests that ended: a receipt is written, kept by the spill, or indeterminate until the storage works again. The wallets learn the thread's answer to a
 * write in the very turn in which it comes. Rules: money.md "Settle", "Crashes"; ledger.md "Failing writes", "Spill", "Attempts".
 */

import type { Answer, Calls, Debit } from '../task.ts'
import type { Heard } from './pending-tasks.ts'
import type { Wallets } from './wallets.ts'
import type { Writer } from './writer.ts'

/** The most requests whose upstream calls are kept while the storage fails; beyond it the oldest are forgotten. */
const UNRECORDED_MAX = 10_000

/** `isShared`: other nodes spend of the same balances. `resync` reads the wallets of these keys again. */
type Around = Readonly<{
  wallets: Wallets
  writer: Writer
  isShared: boolean
  resync: (keyIds: readonly string[]) => void
  onFault: (fault: Readonly<{ problem: string; bug: unknown }>) => void
}>

export class RequestEnds {
  readonly #around: Around
  readonly #wallets: Wallets
  /** Requests that ended without a receipt as far as is known. When the storage works again, it is asked whether they have one, and their checkpoints are removed. */
  readonly #indeterminate = new Set<string>()
  /** Upstream calls of requests without a receipt, to be recorded when the storage works again; if the receipt is indeterminate, once it is known to be missing. */
  readonly #unrecorded = new Map<string, Calls>()
  /** Requests whose settle the spill keeps: it is acknowledged, and their receipt is not yet known to be written. */
  readonly #spilled = new Set<string>()
  /** Requests whose cost may or may not be counted in rows that are read now. */
  readonly #unknown = new Set<string>()

  constructor(around: Around) {
    this.#around = around
    this.#wallets = around.wallets
  }

  /** A row that is read now may count a cost that memory counts as unsettled. */
  get isAnyUnknown(): boolean {
    return this.#unknown.size > 0
  }

  learnSettle(debit: Debit, answer: Answer, failure: Heard['failure']): void {
    const { requestId, hasCheckpoint } = debit
    // The receipt is not in the ledger yet: the cost stays unsettled in memory, and so counts as spent also when rows are read again.
    if (answer === 'spilled') {
      this.#spilled.add(requestId)
      if (failure === 'indeterminate') this.#unknown.add(requestId)
      return
    }
    if (answer === 'settled') this.#wallets.settled(requestId)
    else if (answer !== 'unavailable') this.#learnSettled(requestId)
    if (answer !== 'unavailable') return
    const isCertain = failure === 'certain' && !this.#around.isShared
    if (isCertain) this.#putBack(requestId)
    else this.#unknown.add(requestId)
    this.#keepUnrecorded(callsOf(debit))
    if (!isCertain || hasCheckpoint) this.#indeterminate.add(requestId)
  }

  learnDropped(requestId: string, answer: Answer): void {
    if (answer === 'unavailable') this.#indeterminate.add(requestId)
    else if (answer === 'absent') this.#putBack(requestId)
    else this.#learnSettled(requestId)
  }

  learnAttempts(calls: Calls, answer: Answer): void {
    if (answer === 'unavailable') this.#keepUnrecorded(calls)
  }

  /** A dead thread may have committed some of them before. Rows that were read since count these, while memory counted them as unsettled, too; so the wallets are read again. */
  learnReplayed(requestIds: readonly string[]): void {
    const keyIds = new Set(requestIds.map((requestId) => this.#wallets.settlingKeyOf(requestId)).filter((keyId) => keyId !== undefined))
    for (const requestId of requestIds) this.#written(requestId)
    this.#around.resync([...keyIds])
  }

  /** Asks for all spilled requests: the dead thread may have replayed some without telling, and the thread that opens the ledger has replayed the rest. */
  onTakeOver(): void {
    for (const requestId of this.#spilled) {
      this.#unknown.add(requestId)
      this.#indeterminate.add(requestId)
    }
    this.resolveAllIndeterminate()
  }

  resolveAllIndeterminate(): void {
    for (const requestId of [...this.#indeterminate]) this.resolveIndeterminate(requestId)
  }

  /** Asks whether there is a receipt, and takes the request's checkpoint away where there is none. */
  resolveIndeterminate(requestId: string): void {
    const { writer, onFault } = this.#around
    this.#indeterminate.delete(requestId)
    writer
      .ask({ kind: 'dropCheckpoint', requestId })
      .catch((bug: unknown) => onFault({ problem: 'an indeterminate end failed by a bug', bug }))
  }

  /** Records upstream calls that no receipt covers. */
  record(calls: Calls): void {
    const { writer, onFault } = this.#around
    writer.ask({ kind: 'attempts', calls }).catch((bug: unknown) => onFault({ problem: 'recording upstream calls failed by a bug', bug }))
  }

  recordUnrecorded(): void {
    for (const [requestId, calls] of this.#unrecorded) {
      if (this.#wallets.isSettling(requestId)) continue
      this.#unrecorded.delete(requestId)
      this.record(calls)
    }
  }

  /** Learns that there is a receipt, one that was indeterminate or that another process wrote; the key's row has its cost. */
  #learnSettled(requestId: string): void {
    this.#unrecorded.delete(requestId)
    const keyId = this.#wallets.settlingKeyOf(requestId)
    this.#written(requestId)
    if (keyId === undefined) return
    this.#around.resync([keyId])
  }

  #putBack(requestId: string): void {
    this.#spilled.delete(requestId)
    this.#unknown.delete(requestId)
    this.#wallets.putBack(requestId)
  }

  #written(requestId: string): void {
    this.#spilled.delete(requestId)
    this.#unknown.delete(requestId)
    this.#wallets.settled(requestId)
  }

  #keepUnrecorded(calls: Calls): void {
    if (calls.attempts.length === 0) return
    this.#unrecorded.set(calls.requestId, calls)
    if (this.#unrecorded.size <= UNRECORDED_MAX) return
    for (const oldest of this.#unrecorded.keys()) {
      this.#unrecorded.delete(oldest)
      return
    }
  }
}

/** All upstream calls of a request whose receipt could not be written. Rules: ledger.md "Attempts". */
function callsOf(debit: Debit): Calls {
  const { requestId, accountNumber, keyNumber, price, upstream, usageSource, usage, startedAt, durationMs } = debit
  const { attempts: number = 1, otherAttempts = [], upstreamCost } = debit
  const cause = 'storage'
  const cost = upstreamCost === undefined ? {} : { upstreamCost }
  const answered = upstream && { number, upstream, status: 200, cause, usageSource, usage, startedAt, durationMs, ...cost }
  return { requestId, accountNumber, keyNumber, price, attempts: answered === undefined ? otherAttempts : [...otherAttempts, answered] }
}
