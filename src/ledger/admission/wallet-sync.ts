/**
 * Keeps the wallets in memory up to date with the ledger's rows: an answer is learned in the very turn in which it comes, and rows are read again whenever memory may be
 * wrong. Rules: ledger.md "Wallets", "Failing writes".
 */

import type { KeyState, SettledRows } from '../key-state.ts'
import type { KeyChange } from '../ledger.ts'
import type { NodeMessage } from '../nodes.ts'
import type { OperationResult } from '../operation.ts'
import type { Answer, Answers, Task } from '../task.ts'
import type { Heard } from './pending-tasks.ts'
import type { RequestEnds } from './request-ends.ts'
import type { Wallets } from './wallets.ts'
import type { WindowClock } from './window-clock.ts'
import type { Writer } from './writer.ts'

/** `isShared`: other nodes spend of the same balances. */
type Around = Readonly<{
  wallets: Wallets
  writer: Writer
  ends: RequestEnds
  isShared: boolean
  clock: Pick<WindowClock, 'asked'>
  onChange: (change: KeyChange) => void
  onImport: () => void
  onFault: (fault: Readonly<{ problem: string; bug: unknown }>) => void
}>

export class WalletSync {
  readonly #around: Around
  /** On Postgres: whether the database has not answered an operator's write, which may have been done. */
  #isActIndeterminate = false
  /** Whether rows arrived that could not be learned, so that they must be read again. */
  #isReadOwed = false

  constructor(around: Around) {
    this.#around = around
  }

  /** `settled`: what the rows say behind the answers. */
  learn(heard: readonly Heard[], settled: readonly SettledRows[] = []): void {
    // Writes are learned first: a row that was read in the same commit counts them already, so they must not be added to its wallet afterwards.
    for (const { task, answer, failure } of heard) this.#learn(task, answer, failure)
    for (const { task, answer } of heard) this.#load(task, answer)
    if (!this.#around.ends.isAnyUnknown) this.#around.wallets.keys.learnSettled(settled)
    this.#readWhatIsOwed()
  }

  /** Takes another node's message, and reads the rows, which have the change by now. */
  hear(message: Exclude<NodeMessage, { kind: 'giveBack' }>): void {
    const { wallets, onChange, onImport } = this.#around
    if (message.kind === 'import') {
      onImport()
      return
    }
    if (message.kind === 'credit') {
      this.#readAccount(message.accountId)
      return
    }
    // Any program that may connect to the database can send these messages, so no answer is cut until the row says that the key or its account is disabled.
    if (message.kind === 'account') {
      onChange({ accountId: message.accountId, stop: null })
      this.#readAccount(message.accountId)
      return
    }
    for (const keyId of message.keyIds) onChange({ keyId, stop: null })
    this.read(message.keyIds.filter((keyId) => wallets.keys.has(keyId)))
  }

  #readAccount(accountId: string): void {
    const keyId = this.#around.wallets.keys.keyOfAccount(accountId)
    if (keyId !== undefined) this.read([keyId])
  }

  /** Reads the wallets of these keys again. */
  read(keyIds: readonly string[]): void {
    void this.#read(keyIds)
  }

  /** Resolves when the wallets have what the rows say, or when the rows cannot be read. */
  readAll(): Promise<void> {
    return this.#read(this.#around.wallets.keys.ids())
  }

  /** Never rejects. */
  async #read(keyIds: readonly string[]): Promise<void> {
    if (keyIds.length === 0) return
    const { writer, clock, onFault } = this.#around
    try {
      await writer.ask({ kind: 'keyStates', keyIds, ...clock.asked })
    } catch (bug) {
      onFault({ problem: 'reading the wallets again failed by a bug', bug })
    }
  }

  /** Reads all wallets after an operator's indeterminate write: only the rows say whether it was done. To be called when the storage works again. */
  readAfterIndeterminate(): void {
    if (!this.#isActIndeterminate) return
    this.#isActIndeterminate = false
    void this.readAll()
  }

  #learn(task: Task, answer: Answer, failure: Heard['failure']): void {
    const { wallets, ends, isShared, onImport } = this.#around
    switch (task.kind) {
      case 'settle':
        ends.learnSettle(task.debit, answer, failure)
        return
      case 'dropCheckpoint':
        ends.learnDropped(task.requestId, answer)
        return
      case 'attempts':
        ends.learnAttempts(task.calls, answer)
        return
      case 'operate':
        if (typeof answer === 'object' && 'isNew' in answer) {
          wallets.keys.apply(task.operation, answer.isNew, answer.redeemedPicos, answer.inForcePicos)
          if (task.operation.kind === 'importKeys') onImport()
        } else if (isShared) this.#isActIndeterminate ||= (answer as OperationResult).result === 'unavailable'
        return
      case 'checkpoint':
      case 'ask':
      case 'release':
      case 'findKey':
      case 'foreignHeads':
      case 'keyStates':
      case 'findIdempotency':
      case 'findToken':
    }
  }

  #load(task: Task, answer: Answer): void {
    const { wallets, isShared, onChange } = this.#around
    // Leases are learned behind the settles of the same commit, whose costs are counted in the rows of the answer.
    if (task.kind === 'ask') wallets.answered(task.ask, answer as Answers['ask'], performance.now())
    if (task.kind === 'release') wallets.released(task.release, answer as Answers['release'])
    if (typeof answer !== 'object') return
    if (task.kind === 'findKey' && 'state' in answer) {
      if (isShared) this.#resync([answer.state])
      wallets.keys.load(answer.state)
    }
    if (task.kind !== 'keyStates' || !Array.isArray(answer)) return
    this.#resync(answer)
    for (const state of answer) wallets.keys.load(state)
    if (!isShared) return
    for (const { keyId, isActive } of answer) if (!isActive) onChange({ keyId, stop: 'disabled' })
    const accounts = new Set(answer.filter(({ isAccountActive }) => !isAccountActive).map(({ accountId }) => accountId))
    for (const accountId of accounts) onChange({ accountId, stop: 'disabled' })
  }

  /** Learns the rows, or puts that off while it is unknown whether the rows count what memory counts as unsettled. */
  #resync(states: readonly KeyState[]): void {
    const { wallets, ends } = this.#around
    if (ends.isAnyUnknown) this.#isReadOwed = true
    else wallets.keys.resync(states)
  }

  #readWhatIsOwed(): void {
    if (!this.#isReadOwed || this.#around.ends.isAnyUnknown) return
    this.#isReadOwed = false
    void this.readAll()
  }
}
