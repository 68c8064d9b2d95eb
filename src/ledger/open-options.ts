/** The options and the result of opening a ledger in either store. Rules: ledger.md "One writer", "Recovery". */

import type { FactDifference, NodeFacts } from '../core/node-facts.ts'
import type { ServerPromise } from '../core/server-promise.ts'
import type { GroupCommitOptions } from './admission/group-commit-options.ts'
import type { Enter, ThreadOptions } from './admission/thread-handle.ts'
import type { Ledger } from './ledger.ts'
import type { KeptElsewhere, SharedAnswers, SharedClaims } from './shared-answers.ts'
import type { SharedBytes, SharedLimits } from './shared-limits.ts'
import type { SharedRates } from './shared-rates.ts'

/** How long a failing write is tried again, and so how long clients wait for the end of their answers. */
const RETRY_MS = 2_000
/** A request younger than this has no row if the process dies (money.md "Crashes"). */
const CHECKPOINT_AFTER_MS = 1_000

const LEASE_IDLE_MS = 30_000

const DEFAULTS = {
  spillBytes: 0,
  retryMs: RETRY_MS,
  checkpointAfterMs: CHECKPOINT_AFTER_MS,
  leaseIdleMs: LEASE_IDLE_MS,
  onFault: () => undefined,
  onStorage: () => undefined,
} as const satisfies Partial<Kept>

type Defaulted = keyof typeof DEFAULTS
type Kept = Omit<GroupCommitOptions, 'enter' | 'isShared' | 'boot' | 'makeSupervisor'> & Omit<ThreadOptions, 'place' | 'keepsInFlight'>
export type LedgerOptions = Omit<Kept, Defaulted> &
  Partial<Pick<Kept, Defaulted>> &
  Readonly<{
    /** Whether to make a new ledger if there is none. */
    create: boolean
    /** How long to wait for another process's lock; default: not at all. */
    lockWaitMs?: number
    /** On Postgres: whether to refuse to open without a signing key if statements were signed by one, as a gateway does. */
    needsStatementKey?: boolean
    /** On Postgres: how many processes of this machine write the ledger, this one included; default: one. */
    processes?: number
    /** On Postgres: told in words when the server has no room for all connections while processes are replaced; absent: the room is not checked. */
    onCrowded?: (room: string) => void
    /** On Postgres: returns the facts that this node runs with at the moment; absent: the process serves no requests. */
    facts?: () => NodeFacts
    /** On Postgres: told at the start, and whenever it changes, which acknowledged writes the server may lose. */
    onPromise?: (promise: ServerPromise) => void
    /** On Postgres: told once when nodes differ for longer than the rollout of a change takes. */
    onDifferent?: (difference: FactDifference) => void
    /** On Postgres: the most bytes that the answers shared by nodes may take; each account may take an eighth of this, and at most 8 MiB. Default: 1 GiB. */
    sharedAnswersBytes?: number
    /** On a file: makes the part that carries the tasks of relays to the thread, once the file at this path is locked. */
    relaysAt?: (path: string) => Relays
    /** Whether a file that the last run left open is checked as a whole after the start; a command leaves that to the next gateway. */
    checksFile?: boolean
  }>

/** The relays of a ledger process, as the opening and closing of the ledger sees them. Rules: processes.md "Relays". */
export type Relays = Readonly<{
  /** Wraps `enter`, so that the thread also does the tasks of relays. */
  through(enter: Enter): Enter
  /** Whether requests of living relays may be in flight. */
  keepsInFlight(): boolean
  /** Resolves when no relay is left. */
  whenEmpty(): Promise<void>
  close(): void
}>

/**
 * `replayed`: settles that the spill had kept. `recovered`: requests of a dead process that were waived at their last checkpoint. `path`: that of the file behind any
 * link; on Postgres as configured. `isNew`: the ledger was made just now. `shared`: present if several nodes write the ledger.
 */
export type OpenedLedger = Readonly<{
  ledger: Ledger
  recovered: number
  replayed: number
  path: string
  isNew: boolean
  shared?: Shared
  relays?: Relays | undefined
}>

/**
 * `isCurrent`: whether a read of that time (monotonic clock) still counts, as far as notifications tell. `whileHeard`: the promise's value, or `unavailable` as soon as
 * Postgres does not answer any more.
 */
export type Shared = Readonly<{
  /** Undefined: requests with an Idempotency-Key are claimed by `claims`, and answers are kept beside the file. */
  answers?: SharedAnswers
  claims?: SharedClaims
  kept?: KeptElsewhere
  limits: SharedLimits
  /** Present among relays: limits by the address of a client, and the bytes that accounts send; each node counts these by itself. */
  clientLimits?: SharedLimits
  bytes?: SharedBytes
  rates: SharedRates
  isCurrent: (askedAtMs: number) => boolean
  whileHeard: <T>(working: Promise<T>) => Promise<T | 'unavailable'>
  skewMs: () => number
  fences: () => number
  /** Which acknowledged writes the server may lose; undefined: this is not known yet. */
  promise: () => ServerPromise | undefined
  /** The differences among nodes at the last renewal. */
  differences: () => readonly FactDifference[]
}>

export const withDefaults = ({
  create: _create,
  lockWaitMs: _wait,
  checksFile: _checks,
  needsStatementKey: _needs,
  processes: _processes,
  onCrowded: _crowded,
  facts: _facts,
  onDifferent: _different,
  onPromise: _promise,
  sharedAnswersBytes: _shared,
  relaysAt: _relays,
  ...options
}: LedgerOptions): Kept => ({
  ...DEFAULTS,
  ...options,
})
