/**
 * The ledger's port: what the gateway asks of whoever keeps the money. SQLite on a thread of its own answers it here; Postgres may answer it elsewhere.
 * Rules: money.md "Holds", "Settle"; ledger.md "Failing writes". Nothing here throws: a ledger that cannot write says `unavailable`. What a request that was
 * answered so may still hold is released uncharged once the ledger can write again; nobody need ask for it.
 */

import type { FormatName } from '../core/format.ts'
import type { KeyRecord } from '../core/key.ts'
import type { Picos } from '../core/money.ts'
import type { Outcome, UsageSource } from '../core/outcome.ts'
import type { Rates } from '../core/pricing.ts'
import type { Usage } from '../core/usage.ts'
import type { Operation, OperationResult } from './operation.ts'

export interface Ledger {
  /** Reserves the worst case of a request, if the key and its account may still spend. Survives `kill -9`; need not survive power loss. */
  hold(request: HoldRequest): Promise<HoldAnswer>
  /** Notes how far a running answer has come, for recovery. Not acknowledged; rides in the next commit. */
  mark(requestId: string, usage: Usage): void
  /** Turns a hold into an immutable receipt. Resolves after the commit is on disk. `already`: settled or voided before; nothing was changed. */
  settle(settlement: Settlement): Promise<'settled' | 'already' | 'unavailable'>
  /** Releases a hold; nothing is charged and no receipt is written. */
  void(requestId: string): Promise<'voided' | 'already' | 'unavailable'>
  /** The key of a secret, by the SHA-256 of the secret. */
  findKey(secretHash: Uint8Array): Promise<KeyRecord | undefined | 'unavailable'>
  balanceOf(keyId: string): Promise<KeyBalance | undefined | 'unavailable'>
  /** The operator's writes: keys, accounts, top-ups. Durable when resolved. */
  operate(operation: Operation): Promise<OperationResult>
  /** Called after every commit that changed what a key may do. */
  onKeyChange(listener: (change: KeyChange) => void): void
  /** False while commits fail: the gateway then refuses new requests and says so on `/readyz`. */
  isWritable(): boolean
  /** Commits what is queued, checkpoints and releases the file. */
  close(): Promise<void>
}

export type HoldRequest = Readonly<{
  requestId: string
  keyId: string
  modelId: string
  format: FormatName
  isStream: boolean
  rates: Rates
  amountPicos: Picos
  /** Unix milliseconds. */
  now: number
}>

/** exhausted: balance or limit is used up · reserved: what is left is held by running requests. */
export type HoldAnswer = 'held' | 'exhausted' | 'reserved' | 'disabled' | 'expired' | 'unavailable'

export type Settlement = Readonly<{
  requestId: string
  outcome: Outcome
  usageSource: UsageSource
  usage: Usage
  /** `cost + waived` must be the price of `usage` at the rates of the hold; the database checks it. */
  costPicos: Picos
  waivedPicos: Picos
  /** HTTP status that the client got. */
  status: number
  firstByteMs: number | null
  durationMs: number
  now: number
}>

export type KeyBalance = Readonly<{
  /** min(account balance, limit − spent); holds are not subtracted, not clamped at 0. */
  availablePicos: Picos
  /** Unix milliseconds of the last settle, top-up or limit change that touched the key, else of its creation. */
  lastSyncedAt: number
}>

/** `stop`: why running answers of the key are cut, null where they go on: a used-up balance or limit cuts nothing, its worst case was reserved. */
export type KeyChange = Readonly<{ keyId: string; stop: 'disabled' | null }>
