/** The options and the result of opening a ledger, whichever store it is. Rules: ledger.md "One writer", "Recovery". */

import type { FactDifference, NodeFacts } from '../core/node-facts.ts'
import type { ServerPromise } from '../core/server-promise.ts'
import type { GroupCommitOptions } from './admission/group-commit-options.ts'
import type { Enter, ThreadOptions } from './admission/thread-handle.ts'
import type { Ledger } from './ledger.ts'
import type { KeptElsewhere, SharedAnswers, SharedClaims } from './shared-answers.ts'
import type { SharedLimits } from './shared-limits.ts'

/** A failing write is tried again for so long: clients wait that long for the end of their answers. */
const RETRY_MS = 2_000
/** Requests younger than this leave no row when the process dies (money.md "Crashes"). */
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
    /** Makes a new ledger only where nothing is. */
    create: boolean
    /** How long to wait for another process's lock; default: not at all. */
    lockWaitMs?: number
    /** On Postgres: a gateway does not start without a signing key where statements were signed by one. */
    needsStatementKey?: boolean
    /** On Postgres: of how many processes on this machine this is one; default: of one. */
    processes?: number
    /** On Postgres: told in words when the connections of all do not fit while processes are replaced; absent: it is not looked at. */
    onCrowded?: (room: string) => void
    /** On Postgres: the facts that this node runs with, now; absent: it serves no requests. */
    facts?: () => NodeFacts
    /** On Postgres: told which acknowledged writes the server may lose, at the start and when that changes. */
    onPromise?: (promise: ServerPromise) => void
    /** On Postgres: told once when nodes differ for longer than a change that is rolled out takes. */
    onDifferent?: (difference: FactDifference) => void
    /** On Postgres: the most that answers which nodes share may take; an account an eighth of it, and 8 MiB at most. Default 1 GiB. */
    sharedAnswersBytes?: number
    /** Of a file: makes what carries the tasks of relays to the thread, once the file at this path is locked. */
    relaysAt?: (path: string) => Relays
    /** Whether a file that the last run left open is read and checked as a whole, after the start; a command leaves that to the next gateway. */
    checksFile?: boolean
  }>

/** The relays of a ledger process, as it is opened and closed with them. Rules: processes.md "Relays". */
export type Relays = Readonly<{
  /** The same thread, which also does what relays ask. */
  through(enter: Enter): Enter
  /** Requests of relays that live may be in flight. */
  keepsInFlight(): boolean
  /** Resolves when there is none any more. */
  whenEmpty(): Promise<void>
  close(): void
}>

/**
 * `replayed`: settles that the spill had kept. `recovered`: requests of a dead process that were waived at their last checkpoint. `path`: that of a file behind any link;
 * on Postgres as configured. `isNew`: it was made just now. `shared`: where several nodes write it.
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
 * `isCurrent`: whether what was read at that time (monotonic clock) still holds, as far as notifications tell. `whileHeard`: the promise's value, or `unavailable` as
 * soon as Postgres no longer answers.
 */
export type Shared = Readonly<{
  /** Undefined: what runs under an Idempotency-Key is claimed by `claims`, and answers are kept beside the file. */
  answers?: SharedAnswers
  claims?: SharedClaims
  kept?: KeptElsewhere
  limits: SharedLimits
  isCurrent: (askedAtMs: number) => boolean
  whileHeard: <T>(working: Promise<T>) => Promise<T | 'unavailable'>
  skewMs: () => number
  fences: () => number
  /** Which acknowledged writes the server may lose; undefined: not known yet. */
  promise: () => ServerPromise | undefined
  /** In what nodes differ, as of the last renewal. */
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
