/** The port of what a store does beside the thread that writes, for as long as the ledger is open. Rules: ledger.md "Two stores". */

import type { NodeMessage } from '../nodes.ts'
import type { Loss, RelayRuns, ToThread } from '../task.ts'

export interface StoreSupervisor {
  /** The thread has opened what an earlier run, or an earlier thread, did not close. */
  onLeftOpen(): void
  /** The thread says that it may be: when it is over, it is told. */
  onWalCheckpointDue(): void
  /** False while this process may reserve nothing, because what it counts on may be another's. */
  mayAdmit(): boolean
  /** False once the storage was found damaged. */
  isSound(): boolean
  /** A group of writes was committed. */
  onCommitted(): void
  /** What comes of it, or `unavailable` once the storage says nothing. `onLate` is told what comes of it after that, in the turn in which it comes. */
  whileHeard<T>(working: Promise<T>, onLate?: (late: T) => void): Promise<T | 'unavailable'>
  /** How the rows that are committed can be had while the ledger is not at its place, or not what was written. */
  rescueHint(loss: Loss): string
  /** Before the last commits. */
  stop(): void
  /** After all is sent; resolves when its connections are closed. */
  close(): Promise<void>
  /** After the thread has closed the store. */
  onClosed(): Promise<void> | void
}

/** sound: what was left open is whole. checkpointed: what was due is over. node: it is a node again, as another boot. takeOver: nodes that are gone have left something. lookOver: the server is another one. */
export type FromSupervisor = Extract<ToThread, { kind: 'sound' | 'walCheckpointed' | 'node' | 'takeOver' | 'lookOver' }>

/** What a store tells of the other nodes that write the same ledger. */
export type SupervisorListener = Readonly<{
  onMessage(message: NodeMessage): void
  /** Notifications may have been missed. */
  onMissed(): void
  /** No notifications come in: repeated twice a second for as long as that lasts. */
  onStale(): void
  /** It is a node again, under this boot: the leases of the one before are gone. */
  onBoot(boot: number): void
  /** The server is another one, which may lack the last checkpoints and leases. */
  onFailover(): void
  /** Whether there is a thread that writes, or one that opens the ledger for it. */
  hasThread(): boolean
  /** Of a relay: what is held, or was taken and is not acknowledged. */
  runs(): RelayRuns
}>

/** `tell` says it to the thread that writes, where there is one. */
export type MakeSupervisor = (tell: (message: FromSupervisor) => void, listener: SupervisorListener) => StoreSupervisor
