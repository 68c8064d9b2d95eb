/**
 * Supervises what a node has beside its thread: its lane, which is renewed for as long as the ledger is open and given back after the last write, the messages of other nodes,
 * and the claims of its requests. Rules: nodes.md "Lanes and leases", "Notifications".
 */

import type { Patience } from '../admission/patience.ts'
import type { StoreSupervisor } from '../admission/store-supervisor.ts'
import type { PostgresAnswers } from './answers.ts'
import type { PostgresLimits } from './limits.ts'
import type { LedgerNode } from './node-lease.ts'
import type { NotificationListener } from './notification-listener.ts'

/** `onLeft`: called once the lane was given back. */
type Parts = Readonly<{
  node: LedgerNode
  notifications: NotificationListener
  answers: PostgresAnswers
  limits: PostgresLimits
  patience: Patience
  onStale: () => void
  onLeft: () => void
}>

const STALE_MS = 500

export class NodeSupervisor implements StoreSupervisor {
  readonly #parts: Parts
  readonly #listening: ReturnType<typeof setInterval>

  constructor(parts: Parts) {
    this.#parts = parts
    parts.notifications.begin()
    this.#listening = setInterval(() => {
      if (parts.notifications.isStale()) parts.onStale()
    }, STALE_MS)
  }

  onLeftOpen(): void {}

  mayAdmit(): boolean {
    return this.#parts.node.mayAdmit()
  }

  onWalCheckpointDue(): void {}

  /** Removes claims that had ended and that a failover brought back. */
  onFailover(): void {
    this.#parts.answers.endGhosts()
  }

  isSound(): boolean {
    return true
  }

  onCommitted(): void {
    this.#parts.patience.hear()
  }

  whileHeard<T>(working: Promise<T>, onLate?: (late: T) => void): Promise<T | 'unavailable'> {
    return this.#parts.patience.whileHeard(working, onLate)
  }

  rescueHint(): string {
    return 'no new requests'
  }

  stop(): void {
    clearInterval(this.#listening)
    this.#parts.notifications.close()
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  async onClosed(): Promise<void> {
    this.#parts.answers.close()
    this.#parts.limits.close()
    await this.#parts.node.leave()
    this.#parts.onLeft()
  }
}
