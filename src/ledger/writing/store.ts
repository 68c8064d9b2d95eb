/**
 * The port between the ledger's thread and a store: tasks in, answers out, all writes of a call in one transaction. The port is synchronous, because its caller is
 * a thread of its own: tasks that arrive meanwhile are the next group. Rules: ledger.md "Two stores", "Group commit".
 */

import type { PriceVersion } from '../columns/parts.ts'
import type { SettledRows } from '../key-state.ts'
import type { RelayRuns } from '../lease-move.ts'
import type { KeyChange } from '../ledger.ts'
import type { NodeIdentity, NodeMessage } from '../nodes.ts'
import type { SpillsAt } from '../place.ts'
import type { Answer, Task } from '../task.ts'
import type { LedgerFault, Loss } from '../thread-messages.ts'
import type { Spilled } from './spill-records.ts'

/** `faults`: tasks that broke a rule of the database, which only a bug can do. They were answered `unavailable` and changed nothing. */
export type Applied = Readonly<{
  kind: 'applied'
  answers: readonly Answer[]
  changes: readonly KeyChange[]
  faults: readonly LedgerFault[]
  /** Tasks that were not done, because another transaction keeps their rows locked. They have no answers and may come again. */
  held: ReadonlySet<Task>
  /** On a file: messages for its relays. */
  news?: readonly NodeMessage[]
  /** On a file: what rows say behind the settles of each relay, by its boot. */
  settledRows?: ReadonlyMap<number, readonly SettledRows[]>
}>
/**
 * Nothing was committed as far as the store knows. The whole call may be repeated, because a write that comes twice is done once, by its id. `isFenced`: another node took over
 * this one's lane, so this node may not write. `isHeld`: nothing is wrong with the storage, but another transaction keeps rows locked.
 */
export type NotApplied = Readonly<{ kind: 'failed'; problem: string; isFenced?: true; isHeld?: true }>
/** `settled`: ids of the requests that have a receipt now. `faults`: debits that the database refused, or whose receipts have other figures. */
export type Replayed = Readonly<{ kind: 'replayed'; settled: readonly string[]; faults: readonly LedgerFault[] }>

/** `more`: another batch waits. `blocked`: a batch waits for a transaction that has not ended. */
export type RolledUp = 'more' | 'none' | 'blocked'

/** The relays of a file, each of which is a boot. Rules: processes.md "Relays". */
export interface StoreRelays {
  /** Takes in a relay, which may have been one before; what it holds becomes its lease. Returns the relay's boot; undefined: the storage cannot take it now. */
  join(bootId: string, now: number, runs: RelayRuns): number | undefined
  /** To be called when a relay is gone: its leases end, and its requests in flight are to be waived. */
  leave(boot: number): void
  /** Leases are granted only once all living relays have joined. */
  setGranting(isGranting: boolean): void
}

export interface Store {
  /** Present only on a file. */
  readonly relays?: StoreRelays
  /** The id of the ledger, made together with it. */
  readonly id: string
  /** The number of the boot that writes. */
  readonly boot: number
  /** Adds price versions; later debits and checkpoints name a version by its place in the list of all that were defined. */
  define(prices: readonly PriceVersion[]): void
  versionAt(index: number): PriceVersion
  /** Answers stand in the order of the tasks. Reads see the writes of the same call. `unsettled`: accounts whose leases do not move; nor do those of accounts in `held`. */
  apply(tasks: readonly Task[], unsettled?: ReadonlySet<number>): Applied | NotApplied
  /** Waives what processes that are gone left in flight. Returns the number of these requests. `now`: Unix milliseconds. `onStep`: called before each part of the work. */
  recover(now: number, onStep?: () => void): number | NotApplied
  /** Writes what a spill kept, whichever process's spill it is. Rows that are there already stay as they are; what the database refuses is dropped and reported in `faults`. */
  replay(frames: readonly Spilled[], onStep?: () => void): Replayed | NotApplied
  /** Called when settles were answered: does the work that was put off until then, once there is enough of it. */
  tidy(): void
  /** Adds a batch of receipts to the sums by hour, if a whole one waits. */
  rollUp(): RolledUp
  /** Makes a small commit. True: the storage takes writes again. */
  canWrite(): boolean
  close(): void
}

/** `tellLoss`: why the store is no longer the one that was opened; undefined: it is again. `walCheckpoint`: runs a WAL checkpoint on a file, on another connection. */
type StoreListener = Readonly<{ tellLoss(loss: Loss | undefined): void; walCheckpoint(): void }>

/** A store as the thread holds it, and what the thread tells it. */
export type OpenedStore = Readonly<{
  store: Store
  spills: SpillsAt
  /** The last run ended uncleanly, and the storage has not been checked since. */
  wasLeftOpen: boolean
  /** Called when the store has taken over what an earlier run left. */
  begin(listener: StoreListener): void
  /** Called when the check of a store that was left open has found it whole. */
  onSound(): void
  /** Called when a WAL checkpoint that was asked for has ended. */
  onWalCheckpointed(): void
  /** Called when the process is a node again, under another identity. */
  onNode(identity: NodeIdentity): void
  /** Called before the last commits. */
  end(): void
  /** Called when the store is closed. */
  afterClose(): void
}>
