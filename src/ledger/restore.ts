/**
 * Puts a copy in the ledger's place. The old ledger is set aside whole, and a crash at any step leaves a ledger that is refused, never one that lacks rows and
 * is served. Rules: ledger.md "Restore".
 */

import { renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncFolder } from '../../db/open.ts'
import type { DatabaseProblem } from '../../db/problem.ts'
import { setAside } from '../../db/set-aside.ts'
import type { Difference } from './chain/difference.ts'
import type { ReportProblem } from './reading/account-lists.ts'
import { openReport } from './report.ts'
import { fileIdAt, realPathOf } from './sqlite/file-id.ts'
import { takeLock, whileFolderIsLocked } from './sqlite/lock.ts'
import { copyMigrated } from './sqlite/migrate.ts'
import { removeWatermark } from './sqlite/watermark.ts'
import { relaySpillsAt } from './writing/relay-spills.ts'

/** `differences`: the copy is not sound, and nothing was changed. `setAside`: the old files, under their new names. */
export type Restored =
  | Readonly<{ path: string; setAside: readonly string[] }>
  | Readonly<{ differences: readonly Difference[] }>
  | ReportProblem

/** Endings of the old ledger's files, which are set aside: its log would damage the copy, and its spills and answers are later than the copy. */
const BESIDE = ['-wal', '-shm', '.spill', '.answers-wal', '.answers-shm', '.answers', '']

/** A file beside the ledger that belongs to the same moment. `swap` returns the paths that were set aside; `drop` removes a copy that was not swapped in. */
export type Companion = Readonly<{ swap(): readonly string[]; drop(): void }>

/**
 * `now`: Unix milliseconds. `companion`: made ready after the ledger's copy, and swapped while no ledger is in place. The caller has asked whether a gateway answers
 * at the socket, because a gateway whose file was removed holds a lock that no path leads to.
 */
export function restoreLedger(
  ledgerPath: string,
  file: string,
  now: number,
  companion: () => Companion | ReportProblem | undefined = () => undefined,
): Restored {
  const path = realPathOf(ledgerPath)
  const folder = dirname(path)
  // The lock is held from the first byte of the copy on: another restore must not replace the copy that this one has verified.
  const restored = whileFolderIsLocked(folder, () => restoreHere(path, file, now, companion))
  return restored ?? { problem: 'locked', message: `${folder} is in use by another process` }
}

function restoreHere(path: string, file: string, now: number, companion: () => Companion | ReportProblem | undefined): Restored {
  const id = fileIdAt(path)
  if (id !== undefined && id === fileIdAt(file)) return { problem: 'unwritable', message: `${file} is the ledger itself` }
  const copy = copyOf(file, `${path}.restoring`)
  if ('problem' in copy || 'differences' in copy) return copy
  const beside = companion()
  if (beside !== undefined && 'problem' in beside) {
    rmSync(copy.made, { force: true })
    return beside
  }
  const lock = id === undefined ? undefined : takeLock(path)
  try {
    if (lock === undefined || 'release' in lock) return { path, setAside: swap(path, copy.made, now, beside) }
    const holder = lock.holder === undefined ? 'another process' : `pid ${lock.holder}`
    return { problem: 'locked', message: `ledger is in use by ${holder}: stop it first` }
  } finally {
    if (lock !== undefined && 'release' in lock) lock.release()
    rmSync(copy.made, { force: true })
    beside?.drop()
  }
}

/** Copies to the ledger's own disk, with the content of the copy's log; flushes and verifies. */
function copyOf(
  file: string,
  made: string,
): Readonly<{ made: string }> | Extract<Restored, { problem: unknown } | { differences: unknown }> {
  rmSync(made, { force: true })
  const report = openReport({ kind: 'sqlite', path: file })
  const differences = 'problem' in report ? copyOlder(report, file, made) : report.backup(made)
  if (!('problem' in report)) report.close()
  if ('problem' in differences) return differences
  if (differences.length === 0) return { made }
  rmSync(made)
  return { differences }
}

/** Makes a migrated copy of a copy by an older program, which itself stays as it is. */
function copyOlder(problem: DatabaseProblem, file: string, made: string): readonly Difference[] | ReportProblem {
  if (problem.problem !== 'unmigrated') return problem
  const stuck = copyMigrated(file, made)
  if (stuck !== undefined) return stuck
  const report = openReport({ kind: 'sqlite', path: made })
  if ('problem' in report) return report
  try {
    return report.verify()
  } finally {
    report.close()
  }
}

/** The watermark goes last: until then a start asks for everything that the old ledger had. The companion is swapped in between, never beside a served ledger. */
function swap(path: string, made: string, now: number, beside: Companion | undefined): readonly string[] {
  const old = setAside(path, [...relaySpillsAt(path), ...BESIDE], now)
  const oldBeside = beside?.swap() ?? []
  renameSync(made, path)
  syncFolder(dirname(path))
  removeWatermark(path)
  return [...oldBeside, ...old]
}
