/**
 * The ledger's port: what the gateway asks of the store that keeps the money. Rules: money.md "Holds", "Settle";
 * ledger.md "Failing writes". Nothing here throws: a ledger that cannot write says `unavailable`.
 *
 * What must hold of any ledger behind it, also of one that several nodes share (each node then admits only what a lease of the account's balance covers, and
 * asks the database for the rest):
 * - `hold` decides on amounts that no other writer can spend meanwhile. On a file that is the one writer's memory, on Postgres the node's lease.
 * - What is settled counts as spent from the moment it is sent, and is put back only when it is certain that no row was written.
 * - A receipt is written once a request id, and `settle` resolves after it would survive a loss of power.
 * - The storage knows a request that is a second old, so that it can be waived if its process dies.
 * - Operators' writes change what `hold` sees before they resolve, on every node.
 */

import type { TokenRecord } from '../core/api-token.ts'
import type { ForeignHeads } from '../core/foreign-secret.ts'
import type { FormatName } from '../core/format.ts'
import type { KeyBalance, KeyRecord } from '../core/key.ts'
import type { Picos } from '../core/money.ts'
import type { UsageSource } from '../core/outcome.ts'
import type { Prices } from '../core/pricing.ts'
import type { WindowUsed } from '../core/spending.ts'
import type { UpstreamCost } from '../core/upstream-cost.ts'
import type { Usage } from '../core/usage.ts'
import type { UpstreamCall } from './columns/parts.ts'
import type { SettledColumns } from './columns/receipt.ts'
import type { Act, Operation, OperationResult } from './operation.ts'

export interface Ledger {
  /** Reserves the worst case of a request, if the key and its account may still spend. Answers without waiting if the key is in memory, as it is after `findKey`. */
  hold(request: HoldRequest): HoldAnswer | Promise<HoldAnswer>
  /**
   * Whether nothing is left of what a key may spend, even if nothing were held, and of which window: `hold` would answer the same. False also if that is not known. It answers without waiting,
   * unless other processes also write and memory says that the key is used up: then the row is read first.
   */
  isUsedUp(keyId: string): UsedUp | Promise<UsedUp>
  /** Notes how far a running answer has come, for recovery. The progress is kept in memory until the request is a second old, and the caller never waits. */
  checkpoint(requestId: string, progress: Progress): void
  /**
   * Turns a hold into an immutable receipt. Resolves after the commit is on disk. `already`: settled or voided before; nothing was changed. If no receipt was
   * written in the end (`unavailable`), the upstream calls of the settlement are recorded as attempts once the storage works again.
   */
  settle(settlement: Settlement): Promise<'settled' | 'already' | 'unavailable'>
  /**
   * Releases a hold at once; nothing is charged and no receipt is written. `already`: nothing is held under this id. `attempts`: the upstream calls of the request that
   * may have cost us money all the same; they are written soon, and `void` does not wait for it.
   */
  void(requestId: string, attempts?: readonly Attempt[]): 'voided' | 'already'
  /** The request of the key that used an Idempotency-Key, while that use counts; the header is named by its SHA-256. Settles that were sent before this question are seen. */
  findIdempotency(keyId: string, headerHash: Uint8Array): Promise<IdempotentUse | undefined | 'unavailable'>
  /** The key of a secret, by the SHA-256 of the secret. */
  findKey(secretHash: Uint8Array): Promise<KeyRecord | undefined | 'unavailable'>
  /** The token of the operator's API with this SHA-256, as its row is now, so that one that was revoked on any node is known to be. */
  findToken(tokenHash: Uint8Array): Promise<TokenRecord | undefined | 'unavailable'>
  /** Which secrets of imported keys there may be. */
  foreignHeads(): Promise<ForeignHeads | 'unavailable'>
  /** The key's balance in memory, with settles that were sent and are not on disk yet. Undefined: the key is not in memory, so nothing is held and the rows are complete. */
  keyBalanceOf(keyId: string): SyncedKeyBalance | undefined
  /** The same, with what other processes that share the ledger have spent by now; where they cannot be asked, as far as this process knows. */
  keyBalanceNow(keyId: string): Promise<SyncedKeyBalance | undefined>
  /** Does an operator's write of keys, accounts or credits. It is durable when the promise resolves. `act`: absent for what the program does by itself. */
  operate(operation: Operation, act?: Act): Promise<OperationResult>
  /** Called after every commit that changed what a key may do. */
  onKeyChange(listener: (change: KeyChange) => void): void
  /** Called after every import of keys, and when one may have been missed. */
  onImport(listener: () => void): void
  /** The present holds, oldest first: those of requests in flight, and of requests whose settle is not on disk yet. */
  holds(): readonly Hold[]
  /** False while commits fail: the gateway then refuses new requests and says so on `/readyz`. */
  isWritable(): boolean
  /** False while this process may reserve nothing, because the processes that share its ledger do not hear of it; `isWritable` is then false, too. */
  mayAdmit(): boolean
  /** False once the file was found damaged: it still serves what it can, and `/readyz` says so. */
  isSound(): boolean
  /** Commits what is queued, runs a WAL checkpoint and releases the file. */
  close(): Promise<void>
}

export type HoldRequest = Prices &
  Readonly<{
    requestId: string
    keyId: string
    modelId: string
    format: FormatName
    isStream: boolean
    amountPicos: Picos
    /** Unix milliseconds. */
    now: number
    /** What calls of this model cost us, by the name of the upstream; the cost at any other is not known. */
    costs?: ReadonlyMap<string, UpstreamCost> | undefined
    tag?: string | undefined
  }>

/** exhausted: balance or limit is used up · a window: the budget of it is · reserved: what is left is held by running requests. */
export type HoldAnswer = 'held' | 'exhausted' | WindowUsed | 'reserved' | 'disabled' | 'expired' | 'unavailable'

/** Whether balance or limit is used up, or else the window that is. */
export type UsedUp = boolean | WindowUsed

export type Hold = Readonly<{
  requestId: string
  keyId: string
  accountId: string
  modelId: string
  format: FormatName
  isStream: boolean
  amountPicos: Picos
  /** Unix milliseconds. */
  startedAt: number
}>

/** How far an answer has come, and what its figures rest on. */
export type Progress = Readonly<{
  usage: Usage
  usageSource: UsageSource
  /** The call that runs now. */
  upstream?: UpstreamCall
  bytesPerToken?: number
  /** All calls that ended before that one: a checkpoint writes them, so that they are recorded if the process dies. */
  otherAttempts?: readonly Attempt[]
}>

/**
 * An upstream call that may have cost us money, other than the one that the receipt is about: it has a row of its own, whatever the client paid. Its price is `usage` at the
 * rates of the request's hold.
 */
export type Attempt = Readonly<{
  /** Its place among the upstream calls of the request, from 1. An attempt that is already recorded under this number stays as it is. */
  number: number
  upstream: UpstreamCall
  /** HTTP status of the upstream; null: no status came. */
  status: number | null
  /** Why this call is not the answer, in one word for the operator: `timeout`, `reset`, `overloaded`, … */
  cause: string
  usageSource: UsageSource
  /** The usage that the upstream reported so far. */
  usage: Usage
  /** Unix milliseconds. */
  startedAt: number
  durationMs: number
  /** The place of the version of its cost, which the ledger itself adds; absent: that cost is not known. */
  upstreamCost?: number
}>

/** A client's Idempotency-Key, which the settle records unless an earlier record of the same key and header still counts. Hashes: SHA-256, 32 bytes. */
export type Idempotency = Readonly<{
  headerHash: Uint8Array
  /** The hash of body, route and the headers that matter. */
  bodyHash: Uint8Array
  /** Unix milliseconds. */
  expiresAt: number
}>

export type IdempotentUse = Readonly<{ requestId: string; bodyHash: Uint8Array; expiresAt: number }>

export type Settlement = SettledColumns &
  Readonly<{
    requestId: string
    /** The index of the price level, among the prices of the hold, by which `costPicos` and `waivedPicos` are computed; 0, the default: the price for any prompt. */
    level?: number
    /** The prompt that decides the price level at the upstream; absent: that of `usage`. */
    promptTokens?: number | undefined
    /** Another upstream has the conversation in its cache. */
    hasMoved?: boolean | undefined
    /** The upstream calls of the request other than the receipt's, written in the same transaction as the receipt. */
    otherAttempts?: readonly Attempt[] | undefined
    /** Written in the same transaction as the receipt. */
    idempotency?: Idempotency | undefined
  }>

/** `lastSyncedAt`: Unix milliseconds of the last settle, top-up or limit change of the key, or of its creation if there was none. */
export type SyncedKeyBalance = KeyBalance & Readonly<{ lastSyncedAt: number }>

/** A key, or all keys of an account: customers make as many as they like, so these are not named one by one. */
export type KeysOf = Readonly<{ keyId: string } | { accountId: string }>
/** `stop`: why their running answers are cut; null: they go on. */
export type KeyChange = KeysOf & Readonly<{ stop: 'disabled' | null }>
