/**
 * Opening the ledger for writing: the lock first, then the thread that opens the file and recovers what an earlier run left.
 * Rules: ledger.md "One writer", "Recovery"; platform.md "Process".
 */

import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { problemOf } from '../../db/open.ts'
import { GroupCommit, type GroupCommitOptions } from './group-commit.ts'
import type { Ledger } from './ledger.ts'
import { type Lock, takeLock } from './lock.ts'
import type { OpenProblem } from './task.ts'

type Defaulted = 'retryMs' | 'onFault' | 'markAfterMs' | 'checksFile'
export type LedgerOptions = Omit<GroupCommitOptions, Defaulted | 'onClosed'> & Partial<Pick<GroupCommitOptions, Defaulted>>

/** `recovered`: requests of a dead process that were waived at their last mark. */
export type OpenedLedger = Readonly<{ ledger: Ledger; recovered: number }>

/** Within it a client still waits for the end of its answer. */
const RETRY_MS = 2_000
/** Requests younger than this leave no row when the process dies (money.md "Crashes"). */
const MARK_AFTER_MS = 1_000

/** `create` makes a new ledger only where nothing is. `startThread` makes a Worker of `src/ledger/thread.ts`. */
export async function openLedger(options: LedgerOptions): Promise<OpenedLedger | OpenProblem> {
  const { path, create } = options
  if (!create && !existsSync(path)) return { problem: 'missing', message: `there is no ledger at ${path}` }
  const lock = lockOf(path, create)
  if ('problem' in lock) return lock
  const ledger = new GroupCommit({
    retryMs: RETRY_MS,
    markAfterMs: MARK_AFTER_MS,
    onFault: () => undefined,
    checksFile: false,
    ...options,
    onClosed: () => lock.release(),
  })
  const opened = await ledger.start()
  if ('recovered' in opened) return { ledger, recovered: opened.recovered }
  lock.release()
  return opened
}

function lockOf(path: string, create: boolean): Lock | OpenProblem {
  try {
    if (create) mkdirSync(dirname(path), { recursive: true })
    const lock = takeLock(path)
    if ('release' in lock) return lock
    return { problem: 'locked', message: `ledger is in use by ${lock.holder === undefined ? 'another process' : `pid ${lock.holder}`}` }
  } catch (error) {
    const { message } = problemOf(error, `${path}.lock`)
    return { problem: 'unwritable', message }
  }
}
