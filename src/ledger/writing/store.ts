/**
 * The port between the ledger's thread and a store: tasks in, answers out, all writes of a call in one transaction. Synchronous: the caller is a thread of
 * its own, and what arrives meanwhile is the next group. Rules: ledger.md "Two stores", "Group commit".
 */

import type { PriceVersion } from '../columns/parts.ts'
import type { KeyChange } from '../ledger.ts'
import type { NodeIdentity, NodeMessage } from '../nodes.ts'
import type { SpillsAt } from '../place.ts'
import type { Answer, LedgerFault, Loss, RelayRuns, Task } from '../task.ts'
import type { Spilled } from './spill-records.ts'

/** `faults`: tasks that broke a rule of the database, which only a bug can do. They were answered `unavailable` and changed nothing. */
export type Applied = Readonly<{
  kind: 'applied'
  answers: readonly Answer[]
  changes: readonly KeyChange[]
  faults: readonly LedgerFault[]
  /** Tasks that were not done, because another transaction keeps their rows locked. They have no answers and may come again. */
  held: ReadonlySet<Task>
  /** Of a file: for its relays. */
  news?: readonly NodeMessage[]
}>
/**
 * Nothing was committed as far as the store knows: the whole call may be repeated, for every write is once by its id. `isFenced`: another node took over what this
 * one held, so that it may not write. `isHeld`: nothing is wrong with the storage, but another transaction keeps rows locked.
 */
export type NotApplied = Readonly<{ kind: 'failed'; problem: string; isFenced?: true; isHeld?: true }>
/** `settled`: ids of the requests that have a receipt now. `faults`: debits that the database refused, or whose receipts have other figures. */
export type Replayed = Readonly<{ kind: 'replayed'; settled: readonly string[]; faults: readonly LedgerFault[] }>

/** The relays of a file, each of which is a boot. Rules: processes.md "Relays". */
export interface StoreRelays {
  /** It is there, or there again: what it holds is its lease. Returns its boot; undefined: the storage cannot take it now. */
  join(bootId: string, now: number, runs: RelayRuns): number | undefined
  /** It is gone: its leases go, and what it had in flight is to be waived. */
  leave(boot: number): void
  /** Nothing is granted before all that live have joined. */
  setGranting(isGranting: boolean): void
}

export interface Store {
  /** Of a file. */
  readonly relays?: StoreRelays
  /** Which ledger it is: the id that was made with it. */
  readonly id: string
  /** The number of the boot that writes. */
  readonly boot: number
  /** Price versions that later debits and checkpoints name by their place in the list of all that were defined. */
  define(prices: readonly PriceVersion[]): void
  versionAt(index: number): PriceVersion
  /** Answers stand in the order of the tasks. Reads see the writes of the same call. `unsettled`: accounts whose leases stay, as do those of accounts in `held`. */
  apply(tasks: readonly Task[], unsettled?: ReadonlySet<number>): Applied | NotApplied
  /** Waives what processes that are gone left in flight. Returns how many requests that were. `now`: Unix milliseconds. `onStep`: told before each part of it. */
  recover(now: number, onStep?: () => void): number | NotApplied
  /** Writes what a spill kept, of whichever process it is. What is there already stays as it is; what the database refuses is dropped, and told. */
  replay(frames: readonly Spilled[], onStep?: () => void): Replayed | NotApplied
  /** Called after the answers of settles: does the work that was put off behind them, once there is enough of it. */
  tidy(): void
  /** A small commit: true when the storage takes writes again. */
  canWrite(): boolean
  close(): void
}

/** `tellLoss`: why the store is no longer the one that was opened; undefined: it is again. `walCheckpoint`: runs one on a file, from a connection that does not write. */
type StoreListener = Readonly<{ tellLoss(loss: Loss | undefined): void; walCheckpoint(): void }>

/** A store as the thread holds it, with what goes on beside it. */
export type OpenedStore = Readonly<{
  store: Store
  spills: SpillsAt
  /** The last run ended uncleanly, and the storage has not been checked since. */
  wasLeftOpen: boolean
  /** Called when the store has taken over what an earlier run left. */
  begin(listener: StoreListener): void
  /** Called when the check of storage that was not closed has found it whole. */
  onSound(): void
  /** Called when a checkpoint that was asked for has ended. */
  onWalCheckpointed(): void
  /** Called when the process is a node again, under another identity. */
  onNode(identity: NodeIdentity): void
  /** Called before the last commits. */
  end(): void
  /** Called when the store is closed. */
  afterClose(): void
}>
