/** The port of what a store does beside the thread that writes, for as long as the ledger is open. Rules: ledger.md "Two stores". */

import type { RelayRuns } from '../lease-move.ts'
import type { NodeMessage } from '../nodes.ts'

import type { Loss, ToThread } from '../thread-messages.ts'

export interface StoreSupervisor {
  /** Called when the thread has opened a store that an earlier run, or an earlier thread, did not close. */
  onLeftOpen(): void
  /** Called when the thread says that a WAL checkpoint is due; the thread is told when the checkpoint is over. */
  onWalCheckpointDue(): void
  /** False while this process may reserve nothing, because another process may have taken over its leases. */
  mayAdmit(): boolean
  /** False once the storage was found damaged. */
  isSound(): boolean
  /** Called when a group of writes was committed. */
  onCommitted(): void
  /** The value of `working`, or `unavailable` once the storage is silent. `onLate` gets a value that comes after that, in the turn in which it comes. */
  whileHeard<T>(working: Promise<T>, onLate?: (late: T) => void): Promise<T | 'unavailable'>
  /** Tells the operator how to save the committed rows while the ledger is not at its path, or was overwritten. */
  rescueHint(loss: Loss): string
  /** Called before the last commits. */
  stop(): void
  /** Called when everything was sent; resolves when the supervisor's connections are closed. */
  close(): Promise<void>
  /** Called when the thread has closed the store. */
  onClosed(): Promise<void> | void
}

/**
 * sound: the store that was left open is whole. walCheckpointed: the WAL checkpoint that was due is over. node: this process is a node again, as another boot. takeOver:
 * nodes that are gone left requests in flight. lookOver: the server is another one.
 */
export type FromSupervisor = Extract<ToThread, { kind: 'sound' | 'walCheckpointed' | 'node' | 'takeOver' | 'lookOver' }>

/** What a store tells of the other nodes that write the same ledger. */
export type SupervisorListener = Readonly<{
  onMessage(message: NodeMessage): void
  /** Called when notifications may have been missed. */
  onMissed(): void
  /** Called twice a second for as long as no notifications come in. */
  onStale(): void
  /** Called when this process is a node again, under this boot: the leases of the boot before are gone. */
  onBoot(boot: number): void
  /** Called when the server is another one, which may lack the last checkpoints and leases. */
  onFailover(): void
  /** Whether there is a thread that writes, or one that opens the ledger for it. */
  hasThread(): boolean
  /** On a relay: what requests hold, and what ended requests cost whose settle is not acknowledged. */
  runs(): RelayRuns
}>

/** `tell` passes a message to the thread that writes, if there is one. */
export type MakeSupervisor = (tell: (message: FromSupervisor) => void, listener: SupervisorListener) => StoreSupervisor
