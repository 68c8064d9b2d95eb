/** What is said to the ledger thread and what it says, beside the tasks: its start and end, relays, faults, results. Rules: architecture.md "What crosses between threads". */

import type { DatabaseProblem } from '../../db/problem.ts'
import type { SettledRows } from './key-state.ts'
import type { RelayRuns } from './lease-move.ts'
import type { KeyChange } from './ledger.ts'
import type { NodeIdentity, NodeMessage } from './nodes.ts'
import type { WritablePlace } from './place.ts'
import type { Answer, Numbered, TasksMessage } from './task.ts'

/**
 * `migrates`: whether an older ledger is brought to this version; otherwise it is refused. `keepsInFlight`: whether relays live whose requests an earlier run had in flight;
 * `relaysKnown` must then follow.
 */
export type ToThread =
  | Readonly<{
      kind: 'open'
      place: WritablePlace
      bootId: string
      now: number
      retryMs: number
      spillBytes: number
      migrates: boolean
      keepsInFlight?: boolean
    }>
  /** `from`: the boot of the relay that asks; absent: the process of the thread. */
  | (TasksMessage & Readonly<{ from?: number }>)
  /** A relay joins, or joins again: what it holds is its lease from now on. */
  | Readonly<{ kind: 'relayJoins'; bootId: string; now: number; runs: RelayRuns }>
  /** A relay has left, or is gone: its leases end, and its requests in flight are waived. */
  | Readonly<{ kind: 'relayGoes'; boot: number }>
  /** All living relays have joined: requests in flight of all others are waived, and leases are granted. */
  | Readonly<{ kind: 'relaysKnown' }>
  /** To a thread that does nothing else: moves the log of the ledger at `path` into it. */
  | Readonly<{ kind: 'walCheckpoint'; path: string }>
  /** To a thread that does nothing else: reads the whole file at `path`. */
  | Readonly<{ kind: 'check'; path: string }>
  /** The file was left open by an earlier run and has been found sound since. */
  | Readonly<{ kind: 'sound' }>
  /** The WAL checkpoint that was due is over. */
  | Readonly<{ kind: 'walCheckpointed' }>
  /** Where nodes share the ledger: the process was fenced, and is a node again. */
  | Readonly<{ kind: 'node'; identity: NodeIdentity }>
  /** Where nodes share the ledger: requests in flight of nodes that are gone are to be waived. */
  | Readonly<{ kind: 'takeOver' }>
  /** Where nodes share the ledger: the server may be another one that lacks acknowledged writes. */
  | Readonly<{ kind: 'lookOver' }>
  | Readonly<{ kind: 'close' }>

/** `replayed`: ids of requests whose settle was kept by the spill. `wasLeftOpen`: the last run ended uncleanly, and the file has not been checked since. */
export type Opened = Readonly<{ recovered: number; wasLeftOpen: boolean; replayed: readonly string[] }>

/** A step of a migration, for the operator's log. */
export type MigrationNotice = Readonly<{ notice: string; fields: Readonly<Record<string, string | number>> }>
export type TellMigration = (notice: MigrationNotice) => void

/** What a relay hears when it joins; all is absent where the storage cannot take it now. `spill`: what the ledger has of the relay's own spill. */
export type RelayJoined = Readonly<{ boot: number; ledgerId: string; spill: Readonly<{ frames: number; replayed: readonly string[] }> }>

export type FromThread =
  | (Readonly<{ kind: 'opened' }> & Opened)
  | Readonly<{ kind: 'problem'; problem: OpenProblem }>
  | (Readonly<{ kind: 'migrating' }> & MigrationNotice)
  | Readonly<{ kind: 'opening'; step: string }>
  | Committed
  | Readonly<{ kind: 'fault'; fault: LedgerFault }>
  /** The files at the path are not those that are open any more, and why; undefined: they are again. */
  | Readonly<{ kind: 'lost'; loss: Loss | undefined }>
  /** On a file: its log is to be moved into it now. */
  | Readonly<{ kind: 'walCheckpointDue' }>
  /** The WAL checkpoint that this thread was told to run is over; it may have failed. */
  | Readonly<{ kind: 'walCheckpointed' }>
  | Readonly<{ kind: 'checked'; damage: string | undefined }>
  | (Readonly<{ kind: 'relayJoined'; bootId: string }> & Partial<RelayJoined>)
  /** The relay is gone; sent after the answers to all its tasks. */
  | Readonly<{ kind: 'relayGone'; boot: number }>
  | Readonly<{ kind: 'closed' }>

/**
 * For the operator's log: a broken rule of the database, a failed commit, a thread that died. `bug`: what was thrown, if our code is to blame.
 * `kind`: the loss of a node, or a failover.
 */
export type LedgerFault = Readonly<{ problem: string; bug?: unknown; kind?: 'node' | 'failover' }>

/**
 * Why the ledger at the path is not the one that is open. `isOverwritten`: the open file was overwritten too, so that nothing more is written to it;
 * otherwise everything committed is in the open file.
 */
export type Loss = Readonly<{ problem: string; isOverwritten: boolean }>

/** The results of some tasks. */
export type Committed = Readonly<{
  kind: 'committed'
  /** The boot of the relay that asked; absent: the process of the thread. */
  to?: number
  /** Numbers of the settles that were done, which most tasks are; all others have their answers. */
  settled: Float64Array
  answers: readonly Numbered<{ answer: Answer }>[]
  changes: readonly KeyChange[]
  /** To a relay: the rows of the keys of its settles that were done, behind the whole group. */
  settledRows?: readonly SettledRows[]
  faults: readonly LedgerFault[]
  isWritable: boolean
  /** How long the transaction of the writes took up to its flush; absent if nothing was written. */
  commitMs?: number
  /** How many tasks that transaction had; present together with `commitMs`. */
  groupSize?: number
  /** Bytes that the spill keeps now. */
  spillBytes: number
  /** Ids of requests whose settle was answered `spilled`, and that have their receipt now. */
  replayed?: readonly string[]
  /** On a file: messages for its relays. */
  news?: readonly NodeMessage[]
}>

export type OpenProblem = DatabaseProblem
