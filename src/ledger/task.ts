/** Tasks and answers of the ledger thread, as data that crosses threads. */

import type { TokenRecord } from '../core/api-token.ts'
import type { ForeignHeads } from '../core/foreign-secret.ts'
import type { FormatName } from '../core/format.ts'
import type { KeyRecord } from '../core/key.ts'
import type { Picos } from '../core/money.ts'
import type { PriceVersion } from './columns/parts.ts'
import type { KeyState } from './key-state.ts'
import type { LeaseAnswer, LeaseAsk, LeaseMove } from './lease-move.ts'
import type { Attempt, IdempotentUse, Progress, Settlement } from './ledger.ts'
import type { Act, Operation, OperationResult } from './operation.ts'

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
  /** The boot that admitted the request; absent: the boot that writes. Requests that a fenced boot admitted are waived. */
  boot?: number
  tag?: string
  /** The version of the cost at the upstream that answers, a place like `price`; absent: that cost is not known. */
  upstreamCost?: number | undefined
}>

/** A receipt to write. `hasCheckpoint`: whether the request has a checkpoint, which is removed with it. */
export type Debit = RequestFacts & Settlement & Readonly<{ accountNumber: number; hasCheckpoint: boolean }>

export type InFlightCheckpoint = RequestFacts & Progress & Readonly<{ accountNumber: number }>

/** Upstream calls of a request that has no receipt. */
export type Calls = Pick<Debit, 'requestId' | 'accountNumber' | 'keyNumber' | 'price'> & Readonly<{ attempts: readonly Attempt[] }>

export type Task =
  | Readonly<{ kind: 'settle'; debit: Debit }>
  | Readonly<{ kind: 'checkpoint'; checkpoint: InFlightCheckpoint; now: number }>
  /** Removes the checkpoint of a request that ended without a receipt, and says whether there is a receipt after all. */
  | Readonly<{ kind: 'dropCheckpoint'; requestId: string }>
  | Readonly<{ kind: 'attempts'; calls: Calls }>
  | Readonly<{ kind: 'operate'; operation: Operation; act: Act }>
  /** Where the ledger is shared: makes a node's lease grow as far as a request needs, or shrink. Sent after the settles of the same turn, and done after them. */
  | Readonly<{ kind: 'ask'; ask: LeaseAsk }>
  | Readonly<{ kind: 'release'; release: LeaseMove }>
  /** `now`: Unix milliseconds by the only writer's clock, for the windows that are read; on Postgres its own clock counts. Absent: they are not read. `hour`: the asking process's newest hour. */
  | Readonly<{ kind: 'findKey'; secretHash: Uint8Array; now?: number; hour?: number }>
  | Readonly<{ kind: 'foreignHeads' }>
  | Readonly<{ kind: 'keyStates'; keyIds: readonly string[]; now?: number; hour?: number }>
  | Readonly<{ kind: 'findIdempotency'; keyId: string; headerHash: Uint8Array; now: number }>
  | Readonly<{ kind: 'findToken'; tokenHash: Uint8Array }>

type TaskKind = Task['kind']

/** The answer to each kind of task. */
export type Answers = {
  /** spilled: the spill keeps the settle, which counts as done. already: there was a receipt. corrected: another process had written a receipt, and the difference is booked. */
  settle: 'settled' | 'already' | 'spilled' | 'corrected' | 'unavailable'
  checkpoint: 'checkpointed' | 'unavailable'
  dropCheckpoint: 'absent' | 'settled' | 'unavailable'
  attempts: 'recorded' | 'unavailable'
  operate: Operated
  ask: LeaseAnswer | 'unavailable'
  release: LeaseAnswer | 'unavailable'
  findKey: FoundKey | undefined | 'unavailable'
  foreignHeads: ForeignHeads | 'unavailable'
  keyStates: readonly KeyState[] | 'unavailable'
  findIdempotency: IdempotentUse | undefined | 'unavailable'
  findToken: TokenRecord | undefined | 'unavailable'
}

/** `isNew`: the operation had not been done before. `inForcePicos`: the budget that holds after one was set; null: none. */
type Operated =
  | Exclude<OperationResult, { result: 'done' }>
  | (Extract<OperationResult, { result: 'done' }> & Readonly<{ isNew: boolean; inForcePicos?: Picos | null }>)

export type FoundKey = Readonly<{ record: KeyRecord; state: KeyState }>

export type Answer = Answers[TaskKind]

const READS = ['findKey', 'foreignHeads', 'keyStates', 'findIdempotency', 'findToken'] as const
export type ReadTask = Extract<Task, { kind: (typeof READS)[number] }>
/** Tasks of leases, which are done in transactions of their own, after the other writes. */
export type LeaseTask = Extract<Task, { kind: 'ask' | 'release' }>
export type WriteTask = Exclude<Task, ReadTask | LeaseTask>

export const isRead = (task: Task): task is ReadTask => (READS as readonly string[]).includes(task.kind)

export const isWrite = (task: Task): task is WriteTask => !isRead(task) && !isLease(task)
export const isLease = (task: Task): task is LeaseTask => task.kind === 'ask' || task.kind === 'release'

/** The answer to a task when the storage fails. */
export const unavailable = (task: Task): Answer => (task.kind === 'operate' ? { result: 'unavailable' } : 'unavailable')

/** A task with the number by which its answer finds its caller. */
export type Numbered<T> = Readonly<{ number: number }> & T
/** `from`: the boot of the relay that asked; absent: the process of the thread. Each asking process has numbers of its own. */
export type NumberedTask = Numbered<{ task: Task; from?: number | undefined }>

/** `debits`: settles as debit-records.ts writes them, which come after the other tasks. `prices`: versions that follow those sent before. */
export type TasksMessage = Readonly<{ kind: 'tasks'; tasks: readonly NumberedTask[]; debits: Uint8Array; prices: readonly PriceVersion[] }>
