/** Tasks and answers of the ledger thread, as data that crosses threads. */

import type { TokenRecord } from '../core/api-token.ts'
import type { ForeignHeads } from '../core/foreign-secret.ts'
import type { FormatName } from '../core/format.ts'
import type { KeyRecord } from '../core/key.ts'
import type { Picos } from '../core/money.ts'
import type { PriceVersion } from './columns/parts.ts'
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
 * Asks for a larger lease, or gives some of it back. `number` grows with each move of the process: a move that arrives after a newer one changes nothing. `…RunsPicos`:
 * the part of the lease that other requests hold; a release shrinks the lease to it. null: that lease stays as it is.
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

/** `amountPicos`: what the request is to hold, in addition to the requests that run. */
export type LeaseAsk = LeaseMove & Readonly<{ amountPicos: Picos }>

/**
 * granted: the request may be held · exhausted: balance or limit is used up · reserved: what is left is leased, by running requests of this node ·
 * wanted: other nodes have leases, and were asked for the idle part · disabled: the key or its account is disabled · released: the move was no ask.
 */
type LeaseVerdict = 'granted' | 'exhausted' | 'reserved' | 'wanted' | 'disabled' | 'released'

/** One lease after the move. `backedPicos`: the part of this node's lease that the balance covers beside the leases of others. */
export type LeaseSide = Readonly<{
  backedPicos: Picos
  /** Whether the row has a larger lease than the balance covers: a granted request is not covered in full. */
  hasMore: boolean
  /** Whether so little is left that only what a request needs is leased. */
  isSmall: boolean
}>

/** The rows after the move. */
export type LeaseAnswer = Readonly<{
  verdict: LeaseVerdict
  /** What refused the ask: the account, for all of its keys, or the limit of this key. null: the ask was granted, or the move was no ask. */
  refusedBy: 'account' | 'key' | null
  account: LeaseSide
  key: LeaseSide
  balancePicos: Picos
  /** What the key has spent. */
  spentPicos: Picos
}>

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
  | Readonly<{ kind: 'findKey'; secretHash: Uint8Array }>
  | Readonly<{ kind: 'foreignHeads' }>
  | Readonly<{ kind: 'keyStates'; keyIds: readonly string[] }>
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

/** `isNew`: the operation had not been done before. */
type Operated = Exclude<OperationResult, { result: 'done' }> | (Extract<OperationResult, { result: 'done' }> & Readonly<{ isNew: boolean }>)

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

/** What a relay's requests hold, plus the cost of its settles that are not acknowledged: by account number, and by the number of keys with a limit. */
export type RelayRuns = Readonly<{ accounts: readonly (readonly [number, Picos])[]; keys: readonly (readonly [number, Picos])[] }>

/** `debits`: settles as debit-records.ts writes them, which come after the other tasks. `prices`: versions that follow those sent before. */
export type TasksMessage = Readonly<{ kind: 'tasks'; tasks: readonly NumberedTask[]; debits: Uint8Array; prices: readonly PriceVersion[] }>
