/**
 * Opening the ledger for writing: the lock first, then the thread that opens the file and recovers what an earlier run left.
 * Rules: ledger.md "One writer", "Recovery"; platform.md "Process".
 */

import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { type DatabaseProblem, makeDatabase, problemOf } from '../../../db/open.ts'
import { GroupCommit, type GroupCommitOptions } from '../group-commit.ts'
import type { Ledger } from '../ledger.ts'
import type { OpenProblem } from '../task.ts'
import { danglingTarget, realPathOf } from './file-id.ts'
import { type Lock, takeLock, whileFolderIsLocked } from './lock.ts'
import { goneText, watermarkPathOf } from './watermark.ts'

type Defaulted = 'spillBytes' | 'retryMs' | 'onFault' | 'onStorage' | 'markAfterMs' | 'checksFile'
export type LedgerOptions = Omit<GroupCommitOptions, Defaulted | 'onClosed' | 'file' | 'lockHandle'> &
  Partial<Pick<GroupCommitOptions, Defaulted>> &
  Readonly<{
    /** Makes a new ledger only where nothing is. */
    create: boolean
    /** How long a lock of somebody else is waited for; default: not at all. */
    lockWaitMs?: number
  }>

/**
 * `replayed`: settles that the spill had kept. `recovered`: requests of a dead process that were waived at their last mark. `path`: the file's own, behind any
 * link. `isNew`: it was made just now.
 */
export type OpenedLedger = Readonly<{ ledger: Ledger; recovered: number; replayed: number; path: string; isNew: boolean }>

/** Within it a client still waits for the end of its answer. */
const RETRY_MS = 2_000
/** Requests younger than this leave no row when the process dies (money.md "Crashes"). */
const MARK_AFTER_MS = 1_000
const LOCK_PAUSE_MS = 50

/** `startThread` makes a Worker of `src/ledger/thread.ts`. */
export async function openLedger({ create, lockWaitMs = 0, ...options }: LedgerOptions): Promise<OpenedLedger | OpenProblem> {
  const path = realPathOf(options.path)
  const held = await lockWithin(lockWaitMs, path, create)
  if ('problem' in held) return held
  const { lock, isNew } = held
  const ledger = new GroupCommit({
    spillBytes: 0,
    retryMs: RETRY_MS,
    markAfterMs: MARK_AFTER_MS,
    onFault: () => undefined,
    onStorage: () => undefined,
    checksFile: false,
    ...options,
    path,
    file: lock.file,
    lockHandle: lock.handle,
    onClosed: () => lock.release(),
  })
  const opened = await ledger.start()
  if ('recovered' in opened) return { ledger, recovered: opened.recovered, replayed: opened.replayed.length, path, isNew }
  lock.release()
  return opened
}

type Held = Readonly<{ lock: Lock; isNew: boolean }>

/** A command that writes holds the lock for a moment only. */
async function lockWithin(waitMs: number, path: string, create: boolean): Promise<Held | OpenProblem> {
  const until = performance.now() + waitMs
  for (;;) {
    const held = lockOf(path, create)
    if (!('problem' in held) || held.problem !== 'locked' || performance.now() >= until) return held
    await Bun.sleep(LOCK_PAUSE_MS)
  }
}

function lockOf(path: string, create: boolean): Held | OpenProblem {
  try {
    const made = existsSync(path) ? 'there' : makeAt(path, create)
    if (typeof made !== 'string') return made
    const lock = takeLock(path)
    if ('release' in lock) return { lock, isNew: made === 'new' }
    return inUseBy(lock.holder)
  } catch (error) {
    return problemOf(error, path)
  }
}

/** Under the folder's lock, so that of two that make one neither replaces the other's. */
function makeAt(path: string, create: boolean): 'there' | 'new' | DatabaseProblem {
  const target = danglingTarget(path)
  if (target !== undefined) return { problem: 'missing', message: `${path} is a link to ${target}, where nothing is` }
  if (existsSync(watermarkPathOf(path))) return { problem: 'missing', message: goneText(path) }
  if (!create) return { problem: 'missing', message: `there is no ledger at ${path}` }
  mkdirSync(dirname(path), { recursive: true })
  const made = whileFolderIsLocked(dirname(path), () => (existsSync(path) ? 'there' : (makeDatabase(path) ?? 'new')))
  return made ?? inUseBy(undefined)
}

const inUseBy = (holder: number | undefined): OpenProblem => ({
  problem: 'locked',
  message: `ledger is in use by ${holder === undefined ? 'another process' : `pid ${holder}`}`,
})
