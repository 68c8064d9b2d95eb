/** Tasks and answers of the ledger thread, as data that crosses threads. */

import type { DatabaseProblem } from '../../db/problem.ts'
import type { FormatName } from '../core/format.ts'
import type { KeyRecord } from '../core/key.ts'
import type { Picos } from '../core/money.ts'
import type { PriceVersion } from './columns/parts.ts'
import type { Attempt, IdempotentUse, KeyChange, Progress, Settlement } from './ledger.ts'
import type { NodeIdentity, NodeMessage } from './nodes.ts'
import type { Act, Operation, OperationResult } from './operation.ts'
import type { WritablePlace } from './place.ts'

/** The request's key and price; `price` is a place in the list of price versions that the thread was told. */
type RequestFacts = Readonly<{
  requestId: string
  keyNumber: number
  price: number
  format: FormatName
  isStream: boolean
  holdPicos: Picos
  /** Unix milliseconds. */
  startedAt: number
  /** Of the node that admitted the request; absent: that which writes, or a file's. What a boot that was fenced admitted is waived. */
  boot?: number
}>

/** A receipt to write. `hasCheckpoint`: a checkpoint of the request goes with it. */
export type Debit = RequestFacts & Settlement & Readonly<{ accountNumber: number; hasCheckpoint: boolean }>

export type InFlightCheckpoint = RequestFacts & Progress & Readonly<{ accountNumber: number }>

/** Upstream calls of a request that has no receipt. */
export type Calls = Pick<Debit, 'requestId' | 'accountNumber' | 'keyNumber' | 'price'> & Readonly<{ attempts: readonly Attempt[] }>

/** The rows that a wallet is made of. */
export type KeyState = Readonly<{
  keyId: string
  keyNumber: number
  accountId: string
  accountNumber: number
  isActive: boolean
  isAccountActive: boolean
  /** Unix milliseconds; null: never. */
  expiresAt: number | null
  limitPicos: Picos | null
  spentPicos: Picos
  balancePicos: Picos
  /** Unix milliseconds: of the key's last settle or limit change, and of its account's last credit. */
  lastSyncedAt: number
  toppedUpAt: number | null
}>

/**
 * Asks for more of a lease, or gives some back. `number` grows with each move of the process: a move that arrives after a newer one changes nothing. `…RunsPicos`:
 * the part of the lease that requests hold, beside this one; a release goes down to it. null: that lease stays as it is.
 */
export type LeaseMove = Readonly<{
  number: number
  /** The relay whose leases these are; absent: this process is a node, and they are its own. */
  boot?: number | undefined
  accountNumber: number
  accountRunsPicos: Picos | null
  keyNumber: number
  keyRunsPicos: Picos | null
}>

/** `amountPicos`: what the request holds, beside what runs. */
export type LeaseAsk = LeaseMove & Readonly<{ amountPicos: Picos }>

/**
 * granted: the request may be held · exhausted: balance or limit is used up · reserved: what is left is leased, by running requests of this node ·
 * wanted: other nodes have leases, and were asked for the idle part · disabled: the key, or its account · released: it was no ask.
 */
type LeaseVerdict = 'granted' | 'exhausted' | 'reserved' | 'wanted' | 'disabled' | 'released'

/** One lease after it. `backedPicos`: of this node's row what the balance backs, beside what others have. */
export type LeaseSide = Readonly<{
  backedPicos: Picos
  /** The row has more: a request was granted that is not covered in full. */
  hasMore: boolean
  /** So little is left that only what a request needs is leased. */
  isSmall: boolean
}>

/** The rows after it. */
export type LeaseAnswer = Readonly<{
  verdict: LeaseVerdict
  /** The limit that refused it: the account's, for all of its keys, or this key's. null: it was granted, or no ask. */
  refusedBy: 'account' | 'key' | null
  account: LeaseSide
  key: LeaseSide
  balancePicos: Picos
  /** Of the key. */
  spentPicos: Picos
}>

export type Task =
  | Readonly<{ kind: 'settle'; debit: Debit }>
  | Readonly<{ kind: 'checkpoint'; checkpoint: InFlightCheckpoint; now: number }>
  /** Takes the checkpoint of a request away that ended without a receipt, and says whether it has one after all. */
  | Readonly<{ kind: 'dropCheckpoint'; requestId: string }>
  | Readonly<{ kind: 'attempts'; calls: Calls }>
  | Readonly<{ kind: 'operate'; operation: Operation; act: Act }>
  /** Where the ledger is shared: a node's lease is to grow by what it takes, or to shrink. Sent behind the settles of its turn, and done behind them. */
  | Readonly<{ kind: 'ask'; ask: LeaseAsk }>
  | Readonly<{ kind: 'release'; release: LeaseMove }>
  | Readonly<{ kind: 'findKey'; secretHash: Uint8Array }>
  | Readonly<{ kind: 'keyStates'; keyIds: readonly string[] }>
  | Readonly<{ kind: 'findIdempotency'; keyId: string; headerHash: Uint8Array; now: number }>

type TaskKind = Task['kind']

/** The answer to each kind of task. */
export type Answers = {
  /** spilled: kept for when the storage works again, and to be acknowledged. already: the receipt was there. corrected: another's was, and the difference is booked. */
  settle: 'settled' | 'already' | 'spilled' | 'corrected' | 'unavailable'
  checkpoint: 'checkpointed' | 'unavailable'
  dropCheckpoint: 'absent' | 'settled' | 'unavailable'
  attempts: 'recorded' | 'unavailable'
  operate: Operated
  ask: LeaseAnswer | 'unavailable'
  release: LeaseAnswer | 'unavailable'
  findKey: FoundKey | undefined | 'unavailable'
  keyStates: readonly KeyState[] | 'unavailable'
  findIdempotency: IdempotentUse | undefined | 'unavailable'
}

/** `isNew`: the operation had not been done before. */
type Operated = Exclude<OperationResult, { result: 'done' }> | (Extract<OperationResult, { result: 'done' }> & Readonly<{ isNew: boolean }>)

export type FoundKey = Readonly<{ record: KeyRecord; state: KeyState }>

export type Answer = Answers[TaskKind]

export type ReadTask = Extract<Task, { kind: 'findKey' | 'keyStates' | 'findIdempotency' }>
/** Of leases: done in transactions of their own, behind what else is written. */
export type LeaseTask = Extract<Task, { kind: 'ask' | 'release' }>
export type WriteTask = Exclude<Task, ReadTask | LeaseTask>

export const isRead = (task: Task): task is ReadTask =>
  task.kind === 'findKey' || task.kind === 'keyStates' || task.kind === 'findIdempotency'

export const isWrite = (task: Task): task is WriteTask => !isRead(task) && !isLease(task)
export const isLease = (task: Task): task is LeaseTask => task.kind === 'ask' || task.kind === 'release'

/** The answer to a task when the storage fails. */
export const unavailable = (task: Task): Answer => (task.kind === 'operate' ? { result: 'unavailable' } : 'unavailable')

/** A task under the number by which its answer finds the way back. */
export type Numbered<T> = Readonly<{ number: number }> & T
/** `from`: the boot of the relay that asked; absent: the process of the thread. Numbers are those of who asked. */
export type NumberedTask = Numbered<{ task: Task; from?: number | undefined }>

/** What a relay's requests hold and its ends took that are not acknowledged, by the numbers of accounts and of keys with a limit. */
export type RelayRuns = Readonly<{ accounts: readonly (readonly [number, Picos])[]; keys: readonly (readonly [number, Picos])[] }>

/** `debits`: settles as debit-records.ts writes them, after the other tasks. `prices`: versions that follow those told before. */
export type TasksMessage = Readonly<{ kind: 'tasks'; tasks: readonly NumberedTask[]; debits: Uint8Array; prices: readonly PriceVersion[] }>

/**
 * `migrates`: an older ledger is brought to this version; else it is refused. `keepsInFlight`: relays live whose requests an earlier run had in flight; `relaysKnown` must
 * follow.
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
  /** A relay is there, or there again: what it holds is its lease from now on. */
  | Readonly<{ kind: 'relayJoins'; bootId: string; now: number; runs: RelayRuns }>
  /** It has left, or is gone: its leases go, and what it had in flight is waived. */
  | Readonly<{ kind: 'relayGoes'; boot: number }>
  /** All relays that live have joined: what others had in flight is waived, and leases are granted. */
  | Readonly<{ kind: 'relaysKnown' }>
  /** To a thread that does nothing else: moves the log of the ledger at `path` into it. */
  | Readonly<{ kind: 'walCheckpoint'; path: string }>
  /** To a thread that does nothing else: reads the whole file at `path`. */
  | Readonly<{ kind: 'check'; path: string }>
  /** The file was left open by an earlier run and has been found sound since. */
  | Readonly<{ kind: 'sound' }>
  /** The checkpoint that was due is over. */
  | Readonly<{ kind: 'walCheckpointed' }>
  /** Where nodes share the ledger: the process was fenced, and is a node again. */
  | Readonly<{ kind: 'node'; identity: NodeIdentity }>
  /** Where nodes share the ledger: what nodes that are gone left in flight is to be waived. */
  | Readonly<{ kind: 'takeOver' }>
  /** Where nodes share the ledger: the server may be another one, and lack what was acknowledged. */
  | Readonly<{ kind: 'lookOver' }>
  | Readonly<{ kind: 'close' }>

/** `replayed`: ids of requests whose settle was kept by the spill. `wasLeftOpen`: the last run ended uncleanly, and the file has not been checked since. */
export type Opened = Readonly<{ recovered: number; wasLeftOpen: boolean; replayed: readonly string[] }>

/** A step of a migration, for the operator's log. */
export type MigrationNotice = Readonly<{ notice: string; fields: Readonly<Record<string, string | number>> }>
export type TellMigration = (notice: MigrationNotice) => void

export type FromThread =
  | (Readonly<{ kind: 'opened' }> & Opened)
  | Readonly<{ kind: 'problem'; problem: OpenProblem }>
  | (Readonly<{ kind: 'migrating' }> & MigrationNotice)
  | Readonly<{ kind: 'opening'; step: string }>
  | Committed
  | Readonly<{ kind: 'fault'; fault: LedgerFault }>
  /** The files at the path are not those that are open any more, and why; undefined: they are again. */
  | Readonly<{ kind: 'lost'; loss: Loss | undefined }>
  /** Of a file: its log is to be moved into it now. */
  | Readonly<{ kind: 'walCheckpointDue' }>
  /** From the thread that was told to: it did, or could not. */
  | Readonly<{ kind: 'walCheckpointed' }>
  | Readonly<{ kind: 'checked'; damage: string | undefined }>
  /** `boot` undefined: the storage cannot take it now. */
  | Readonly<{ kind: 'relayJoined'; bootId: string; boot: number | undefined }>
  /** Behind the answers to all that it had asked. */
  | Readonly<{ kind: 'relayGone'; boot: number }>
  | Readonly<{ kind: 'closed' }>

/** For the operator's log: a broken rule of the database, a failed commit, a thread that died. `bug`: what was thrown, where our code is to blame. `kind`: of a node that was lost, of a failover. */
export type LedgerFault = Readonly<{ problem: string; bug?: unknown; kind?: 'node' | 'failover' }>

/**
 * Why the ledger at the path is not the one that is open. `isOverwritten`: nor is the open file what was written here, so that nothing more is written to it;
 * otherwise all that is committed is in the open file.
 */
export type Loss = Readonly<{ problem: string; isOverwritten: boolean }>

/** The results of some tasks. */
export type Committed = Readonly<{
  kind: 'committed'
  /** The boot of the relay that asked them; absent: the process of the thread. */
  to?: number
  /** Numbers of the settles that were done, which most tasks are; all others have their answers. */
  settled: Float64Array
  answers: readonly Numbered<{ answer: Answer }>[]
  changes: readonly KeyChange[]
  faults: readonly LedgerFault[]
  isWritable: boolean
  /** How long the transaction of its writes took, to its flush; absent where nothing was written. */
  commitMs?: number
  /** How many tasks that transaction had; beside `commitMs`. */
  groupSize?: number
  /** Bytes that the spill keeps now. */
  spillBytes: number
  /** Ids of requests whose settle was answered `spilled`, and that have their receipt now. */
  replayed?: readonly string[]
  /** Of a file: for its relays. */
  news?: readonly NodeMessage[]
}>

export type OpenProblem = DatabaseProblem
