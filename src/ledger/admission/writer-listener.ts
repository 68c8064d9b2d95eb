/** What the writer tells the ledger's port, and asks of it. Rules: ledger.md "Group commit", "Spill". */

import type { PriceVersion } from '../columns/parts.ts'
import type { Committed, Loss } from '../thread-messages.ts'
import type { Heard } from './pending-tasks.ts'

export type WriterListener = Readonly<{
  /** All price versions that tasks name by their place; the list only grows. */
  prices(): readonly PriceVersion[]
  /** Called in the turn in which the answers came, before the callers get them. `committed` is absent when no thread could be asked. */
  onAnswers(heard: readonly Heard[], committed?: Committed): void
  /** Called when a thread has opened a store that an earlier run, or an earlier thread, did not close. */
  onLeftOpen(): void
  /** Called when these requests, whose settle was answered `spilled`, have their receipt. */
  onReplayed(requestIds: readonly string[]): void
  /** Tells the operator how to save the committed rows while the ledger is not at its path. */
  rescueHint(loss: Loss): string
  onWalCheckpointDue(): void
  /** Called when a new thread has got the unanswered tasks again; whatever is sent now comes behind these. Resolves when the wallets have been read again. */
  onTakeOver(): Promise<void>
}>
