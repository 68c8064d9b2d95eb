/**
 * A copy put in the ledger's place: what was there is set aside whole, and a crash at any step leaves a ledger that is refused rather than one with less in it
 * that is served. Rules: ledger.md "Restore".
 */

import { existsSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncFolder } from '../../db/open.ts'
import type { Difference } from './difference.ts'
import { fileIdAt, realPathOf } from './file-id.ts'
import { takeLock, whileFolderIsLocked } from './lock.ts'
import { openReport, type ReportProblem } from './report.ts'
import { removeWatermark } from './watermark.ts'

/** `differences`: the copy is not in order, and nothing was changed. `setAside`: what was there, under its new name. */
export type Restored =
  | Readonly<{ path: string; setAside: readonly string[] }>
  | Readonly<{ differences: readonly Difference[] }>
  | ReportProblem

/** What belongs to a ledger's past: with its log a copy would be damaged, and what was settled after it is not in it. */
const BESIDE = ['-wal', '-shm', '.spill', '']

/** `now`: Unix milliseconds. The caller has asked whether a gateway answers at the socket: one whose file was removed holds a lock that no path leads to. */
export function restoreLedger(ledgerPath: string, file: string, now: number): Restored {
  const path = realPathOf(ledgerPath)
  const folder = dirname(path)
  // From the copy's first byte on: what a second one copies must not take the place of what this one has verified.
  const restored = whileFolderIsLocked(folder, () => restoreHere(path, file, now))
  return restored ?? { problem: 'locked', message: `${folder} is in use by another process` }
}

function restoreHere(path: string, file: string, now: number): Restored {
  const id = fileIdAt(path)
  if (id !== undefined && id === fileIdAt(file)) return { problem: 'unwritable', message: `${file} is the ledger itself` }
  const copy = copyOf(file, `${path}.restoring`)
  if ('problem' in copy || 'differences' in copy) return copy
  const lock = id === undefined ? undefined : takeLock(path)
  if (lock !== undefined && 'holder' in lock) {
    rmSync(copy.made, { force: true })
    return {
      problem: 'locked',
      message: `ledger is in use by ${lock.holder === undefined ? 'another process' : `pid ${lock.holder}`}: stop it first`,
    }
  }
  try {
    return { path, setAside: swap(path, copy.made, now) }
  } finally {
    lock?.release()
    rmSync(copy.made, { force: true })
  }
}

/** On the ledger's own disk, with what was in the copy's log, flushed and verified. */
function copyOf(
  file: string,
  made: string,
): Readonly<{ made: string }> | Extract<Restored, { problem: unknown } | { differences: unknown }> {
  rmSync(made, { force: true })
  const report = openReport(file)
  if ('problem' in report) return report
  const differences = report.backup(made)
  report.close()
  if ('problem' in differences) return differences
  if (differences.length === 0) return { made }
  rmSync(made)
  return { differences }
}

/** The mark goes last: until then a start asks for all that the old ledger had. */
function swap(path: string, made: string, now: number): readonly string[] {
  const aside = `${path}.${new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, '')}`
  const setAside: string[] = []
  for (const suffix of BESIDE) {
    if (!existsSync(path + suffix)) continue
    renameSync(path + suffix, aside + suffix)
    setAside.push(aside + suffix)
  }
  syncFolder(dirname(path))
  renameSync(made, path)
  syncFolder(dirname(path))
  removeWatermark(path)
  return setAside
}
